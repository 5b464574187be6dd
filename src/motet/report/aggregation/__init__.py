"""Figures of shared pools of Aggregators."""
