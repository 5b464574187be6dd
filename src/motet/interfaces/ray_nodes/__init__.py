"""Starts and ends the Ray nodes of a live cluster: the head beside the server, others that join."""
