"""What follows from a simulation: fairness, quality, placement scores, summaries."""
