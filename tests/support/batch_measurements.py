"""Measurements of single mini-batches for tests of Cruise."""

from __future__ import annotations

from motet.cruise.calibration.averages import BatchMeasurement


def measurement(
    machine: int,
    comp_s_per_instance: float,
    exchange_s: float = 0.0,
    batch_s: float | None = None,
    instances: int = 1,
    pulled_bytes: float = 0.0,
    pushed_bytes: float = 0.0,
) -> BatchMeasurement:
    """One mini-batch; by default it takes its COMP and its exchange."""
    comp_s = comp_s_per_instance * instances
    took_s = comp_s + exchange_s if batch_s is None else batch_s
    return BatchMeasurement(
        machine, comp_s, exchange_s, took_s, instances, pulled_bytes, pushed_bytes
    )
