"""Memory that the idle machines of a live cluster lend to its jobs."""
