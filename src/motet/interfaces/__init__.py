"""The interfaces for users: the Python API, the `motet` command line, and the HTTP server."""
