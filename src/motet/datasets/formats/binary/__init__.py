"""Readers of binary files: arrays of NumPy and SciPy, and images in idx."""
