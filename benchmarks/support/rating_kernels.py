"""Kernel speed of NMF beside cornac's matrix factorisation: CPU-seconds of one thread."""

from __future__ import annotations

import importlib.util
from typing import Any

from motet.apps.nmf import NMF
from motet.datasets import Ratings, open_dataset
from support.figures import Figure
from support.side_by_side import Sample, comp_sample, cpu_s, interleaved_medians, real_or_generated

RANK = 16


def rating_figures(quick: bool = False) -> list[Figure]:
    """An epoch of COMP on MovieLens 100K and on a wider matrix with 2,000,000 (quick: 400,000)."""
    place, is_real = real_or_generated(
        "ml-100k/u.data.gz", "synthetic-ratings:users=943,items=1682,density=0.063"
    )
    density = 0.002 if quick else 0.01
    larger = f"synthetic-ratings:users=20000,items=10000,density={density}"
    return [
        *_figures("MovieLens 100K" if is_real else "the shape of MovieLens 100K", place, quick),
        *_figures("20,000 users x 10,000 items", larger, quick),
    ]


def _figures(name: str, place: str, quick: bool) -> list[Figure]:
    ratings = open_dataset(place, kind="ratings")
    assert isinstance(ratings, Ratings)
    samples: list[Sample] = [comp_sample(NMF(rank=RANK), ratings)]
    if importlib.util.find_spec("cornac"):
        samples.append(_cornac_sample(ratings))
    speeds = [
        ratings.rating_count / seconds / 1e6
        for seconds in interleaved_medians(samples, 3 if quick else 9)
    ]
    title = f"NMF, {name}, rank {RANK}"
    own = f"{speeds[0]:.0f}M ratings/s"
    absolute = Figure(f"{title}, M/s", own, "", speeds[0], 20.0)
    if len(speeds) == 1:
        return [absolute, Figure(f"{title} (cornac is not installed)", own)]
    return [absolute, Figure(title, own, f"{speeds[1]:.0f}M cornac", speeds[0] / speeds[1], 0.4)]


def _cornac_sample(ratings: Ratings) -> Sample:
    """Seconds per epoch, without what `fit` does before the first."""
    from cornac.data import Dataset

    triples = zip(
        ratings.users.tolist(), ratings.items.tolist(), ratings.values.tolist(), strict=True
    )
    dataset = Dataset.from_uir(list(triples))
    epochs = 10

    def sample() -> float:
        one, many = _cornac(1), _cornac(1 + epochs)
        return -(cpu_s(lambda: one.fit(dataset)) - cpu_s(lambda: many.fit(dataset))) / epochs

    return sample


def _cornac(epochs: int) -> Any:
    from cornac.models import MF

    return MF(
        k=RANK, max_iter=epochs, learning_rate=0.01, lambda_reg=0.1, use_bias=False, num_threads=1
    )
