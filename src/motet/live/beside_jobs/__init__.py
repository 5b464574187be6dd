"""Processes of the cluster's launcher that are no jobs, and take no slots."""
