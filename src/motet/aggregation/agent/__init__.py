"""The Agent: a training process's access to the Aggregators of its job (Init, Push, Pull)."""
