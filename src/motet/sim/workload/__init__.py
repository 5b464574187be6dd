"""The jobs of a simulation as columns, and what is checked of them."""
