"""Reconfiguration plans as values: what may change, in which order, with which result. Pure."""
