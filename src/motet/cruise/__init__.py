"""Cruise: the best configuration of one job, when to change to it, and how to get there. Pure."""
