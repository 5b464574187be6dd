"""Warnings of estimators, and the line of the user's program that they name."""
