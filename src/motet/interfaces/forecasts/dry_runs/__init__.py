"""Dry runs: what a submission would do."""
