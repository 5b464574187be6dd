"""Frozen dataclasses that the engine makes at every decision."""
