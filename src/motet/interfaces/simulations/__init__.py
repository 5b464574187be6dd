"""Simulations from Python: arguments, results, comparisons, explanations."""
