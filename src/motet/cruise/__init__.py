"""Cruise: the best configuration of one job, when to change to it, and the plan to it. Pure."""
