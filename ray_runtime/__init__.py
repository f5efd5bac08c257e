"""What runs on the Ray cluster. Imports nothing of Django; knows only the portal's URL and its tokens."""
