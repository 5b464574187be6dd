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
from motet.sim.profiles import bundled_profiles

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


def errors_about(held_out: int, known: tuple[int, ...], gpu: str) -> list[float]:
    """Of gangs that Gavel's authors measured, on one machine and with every GPU on its own."""
    profiles, errors = bundled_profiles(), []
    for (model, kind), together in profiles.alone.items():
        apart = profiles.spread.get((model, kind), {})
        for part in ({}, apart):
            speeds = {gpus: speed * part.get(gpus, 1) for gpus, speed in together.items()}
            if kind == gpu and speeds.keys() >= {held_out, *known} and min(speeds.values()) > 0:
                samples = np.array([(gpus, 0, speeds[gpus]) for gpus in known], dtype=np.float64)
                found = fit_speed(samples).steps_per_s(held_out, 0)
                errors.append(abs(found / speeds[held_out] - 1))
    return errors


@pytest.mark.parametrize(("held_out", "known"), [(4, (1, 2, 8)), (2, (1, 4, 8))])
def test_three_sizes_of_a_gang_say_how_fast_a_fourth_is(
    held_out: int, known: tuple[int, ...]
) -> None:
    """V100s count for the median only: there four on a machine were measured to be slower per GPU
    than two and eight, which no sum of costs does."""
    regular = errors_about(held_out, known, "p100") + errors_about(held_out, known, "k80")
    errors = regular + errors_about(held_out, known, "v100")
    assert len(errors) > 100
    assert float(np.median(errors)) <= 0.10
    assert float(np.quantile(regular, 0.9)) <= 0.16
