"""What jobs that share a machine held its CPU and network for (Harmony, dissertation, fig. 4.6)."""
