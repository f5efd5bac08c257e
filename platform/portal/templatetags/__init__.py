"""Tags and filters that templates of every app load."""
