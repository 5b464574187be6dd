"""Queues (virtual clusters), what is guaranteed to them, and the file that says so."""
