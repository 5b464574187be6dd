"""`motet predict`: predictions of a trained model for other data."""
