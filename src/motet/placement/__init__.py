"""Placement planners: choose the machines of a gang. Pure."""
