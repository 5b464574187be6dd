"""Measured loss curves of real jobs."""

from motet.sim.curves.loss_curve import LossCurve, bundled_curve, bundled_names

__all__ = ["LossCurve", "bundled_curve", "bundled_names"]
