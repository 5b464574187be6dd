"""How many GPUs each job gets: compiled loops over jobs in a policy's order. Pure."""
