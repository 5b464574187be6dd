"""Figures of cluster runs: Gantt charts, fairness, quality, comparisons."""
