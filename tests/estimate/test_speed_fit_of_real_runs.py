"""Speed functions learnt from real runs, asked about configurations that they have not seen."""

from __future__ import annotations

import csv
from collections import defaultdict
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from motet.estimate.speed_fit import fit_speed
from motet.estimate.speed_function import SpeedMode

SAMPLES = Path(__file__).resolve().parents[2] / "benchmarks" / "data" / "speed_samples.csv"
APPS = ("nmf", "mlr", "lda", "lasso")


def samples_of(app: str) -> NDArray[np.float64]:
    """(workers, servers, mini-batches per second), the mean of its visits."""
    times_s = defaultdict(list)
    with SAMPLES.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["app"] == app:
                roles = int(row["workers"]), int(row["servers"])
                times_s[roles].append(float(row["mini_batch_s"]))
    return np.array([(*roles, 1 / np.mean(found)) for roles, found in sorted(times_s.items())])


@pytest.mark.parametrize("app", APPS)
def test_five_configurations_say_how_fast_the_two_others_are(app: str) -> None:
    samples = samples_of(app)
    errors = []
    # What is asked lies between what was measured.
    for held_out in combinations(range(1, len(samples) - 1), 2):
        known = np.delete(samples, held_out, axis=0)
        fitted = fit_speed(known, SpeedMode.SYNC)
        errors += [
            abs(fitted.steps_per_s(workers, servers) / steps_per_s - 1)
            for workers, servers, steps_per_s in samples[list(held_out)]
        ]
    assert float(np.median(errors)) <= 0.10
    assert float(np.quantile(errors, 0.9)) <= 0.16
