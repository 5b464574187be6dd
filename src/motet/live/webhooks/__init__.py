"""Webhooks: what happens to jobs and machines, and the programs that are told of it."""
