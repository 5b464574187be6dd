"""`motet predict`: what a trained model says of other data."""
