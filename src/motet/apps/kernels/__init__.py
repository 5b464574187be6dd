"""Compiled inner loops of applications, and their random numbers."""
