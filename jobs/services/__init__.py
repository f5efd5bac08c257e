"""What can be done to jobs: one module per kind of act. `transition` alone writes a job's state."""
