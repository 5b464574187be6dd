"""Emulates a cluster on one machine: hosts with limited links, CPU quotas and memory limits."""
