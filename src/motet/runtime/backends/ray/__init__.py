"""Executors as Ray actors: nodes, launches, placement. The only package that knows Ray."""
