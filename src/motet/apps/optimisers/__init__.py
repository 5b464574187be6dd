"""Optimisation methods that applications share."""
