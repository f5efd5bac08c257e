"""The demo: starts a platform here, submits three jobs through the public API, and checks what happened."""
