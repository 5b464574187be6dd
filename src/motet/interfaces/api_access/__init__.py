"""Requests to the server of the live cluster: the connection, and what they are about."""
