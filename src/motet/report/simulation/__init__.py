"""Folders, tables and comparisons of finished simulations, and the events of one job."""
