"""The interfaces for users: the Python API and the `motet` command line."""
