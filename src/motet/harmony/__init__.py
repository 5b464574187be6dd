"""Harmony: which jobs share machines, on how many machines, and when to regroup them. Pure."""
