"""The controller of one job: starts executors, runs epochs and plans, recovers from losses."""
