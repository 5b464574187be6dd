"""The history of a job in sentences: waits, runs and their reasons. Pure."""
