"""Metrics of a simulation: fairness, quality, placement scores, summaries."""
