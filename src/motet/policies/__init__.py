"""Scheduling policies: one file each, none knows another."""
