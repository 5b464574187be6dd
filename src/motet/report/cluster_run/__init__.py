"""The record of one run of a cluster, whichever driver made it: jobs, decisions, metrics."""
