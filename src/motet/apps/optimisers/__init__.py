"""Optimisation methods shared by applications."""
