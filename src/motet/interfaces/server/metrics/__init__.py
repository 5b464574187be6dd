"""Figures of a running server for Prometheus: kept by the master's steps, read by other threads."""
