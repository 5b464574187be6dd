"""The record of one run of a cluster, independent of the driver: jobs, placements, decisions."""
