"""Converts users' data to training data: arrays, matrices, ratings, classes, coordinates."""
