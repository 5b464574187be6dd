"""Commands of the live cluster: the server, and what users do with jobs."""
