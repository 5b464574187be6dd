"""From a decision to actions: check, difference to running jobs, fitting to machines, placement."""
