"""The jobs of a simulation as columns, and their checks."""
