"""Clusters that can host executors: processes of this machine, and Ray."""
