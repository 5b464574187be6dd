"""Curves of a training: its loss and the time of its epochs, thinned out."""

from __future__ import annotations

import csv
from math import isfinite
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from motet.insight.replay_words import time_words

_MOST_POINTS = 2000
_LATEST = 10


class _Epoch(NamedTuple):
    epoch: int
    loss: float
    comp_s: float
    comm_s: float
    wait_s: float


class TrainingCurves(NamedTuple):
    """`epochs` and `losses`; `times`: seconds of computation, communication and waiting per epoch;
    `latest`: the means of the last epochs in words."""

    epochs: list[int]
    losses: list[float]
    times: tuple[list[float], list[float], list[float]]
    latest: str


def training_curves(folder: Path) -> TrainingCurves | None:
    """From `loss.csv` in the folder of results; None: there are no epochs yet."""
    try:
        with open(folder / "loss.csv", newline="", encoding="utf-8") as file:
            rows = [each for each in map(_epoch, csv.DictReader(file)) if isfinite(each.loss)]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if not rows:
        return None
    kept = rows[:: -(-len(rows) // _MOST_POINTS)]
    times = ([each.comp_s for each in kept], [each.comm_s for each in kept])
    return TrainingCurves(
        [each.epoch for each in kept],
        [each.loss for each in kept],
        (*times, [each.wait_s for each in kept]),
        _latest(rows[-_LATEST:]),
    )


def _epoch(row: dict[str, str]) -> _Epoch:
    times = (float(row[name]) for name in ("comp_s", "comm_s", "wait_s"))
    return _Epoch(int(row["epoch"]), float(row["loss"]), *times)


def _latest(rows: list[_Epoch]) -> str:
    comp_s, comm_s, wait_s = (
        time_words(fmean(getattr(each, name) for each in rows))
        for name in ("comp_s", "comm_s", "wait_s")
    )
    return f"computation {comp_s}, communication {comm_s}, waiting {wait_s}"
