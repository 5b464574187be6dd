"""A shared pool of Aggregators in virtual time: the planner of AutoPS over a log of jobs."""
