"""Pages about jobs, and those that show queues and nodes together with the jobs on them."""
