"""Measurements of jobs and machines, and the estimates that are computed from them."""
