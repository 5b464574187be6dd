"""Plans carried out during a generation: operations on roles, model blocks and data blocks."""
