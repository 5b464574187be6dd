"""Readers of separated cells: CSV tables and rating files, their columns and records."""
