"""The command line and Python client of Gangline. Knows the public API only, nothing of the server."""

VERSION = "0.1.0"
