"""Loops that Numba compiles: its compiler, and functions of the C library."""
