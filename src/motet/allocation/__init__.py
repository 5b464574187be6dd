"""GPU counts per job: compiled loops over jobs in a policy's order. Pure."""
