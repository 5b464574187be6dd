"""Ratios of completion times of the same jobs."""

from __future__ import annotations

import numpy as np
import pytest

from motet.report.cluster_run.job_pairs import JobPairs
from motet.report.simulation.job_ratios import MOST_LISTED, JobRatio, JobRatios


def pairs(**times: tuple[float, float]) -> JobPairs:
    before, after = np.array(list(times.values()), dtype=np.float64).reshape(-1, 2).T
    return JobPairs(tuple(times), before, after, np.zeros(len(times), dtype=np.int64))


def test_changes_of_up_to_1_percent_are_neither_sooner_nor_later() -> None:
    found = JobRatios.of(
        "srtf", "fifo", {0: pairs(a=(100, 99.5), b=(100, 50), c=(100, 101), d=(100, 400))}
    )

    assert (found.jobs, found.sooner, found.later) == (4, 1, 1)
    assert (found.sooner_ratio, found.later_ratio) == (pytest.approx(0.5), pytest.approx(4))


def test_the_ratio_of_many_jobs_is_their_geometric_mean() -> None:
    found = JobRatios.of("srtf", "fifo", {0: pairs(a=(100, 50), b=(800, 100))})

    assert found.sooner_ratio == pytest.approx(0.25)
    assert found.later_ratio == 1


def test_the_listed_jobs_differ_most_in_seconds_and_name_their_seed() -> None:
    gains = {f"j{number}": (100.0 + number, 10.0) for number in range(MOST_LISTED + 2)}
    found = JobRatios.of("srtf", "fifo", {3: pairs(**gains), 7: pairs(late=(10, 1000))})

    assert [job.job_id for job in found.largest_gains] == ["j6", "j5", "j4", "j3", "j2"]
    assert found.largest_losses == [JobRatio("late", 7, 10, 1000, 100)]


def test_the_document_has_the_names_of_the_files() -> None:
    document = JobRatios.of("srtf", "fifo", {0: pairs(a=(100, 50))}).as_dict()

    assert list(document) == [
        *("policy", "against", "jobs", "winners", "losers", "winners_ratio", "losers_ratio"),
        *("most_won", "most_lost"),
    ]
    assert document["most_won"] == [
        {"job_id": "a", "seed": 0, "before_s": 100, "after_s": 50, "ratio": 0.5}
    ]


def test_jobs_without_duration_have_a_ratio() -> None:
    found = JobRatios.of("srtf", "fifo", {0: pairs(a=(0, 0))})

    assert (found.sooner, found.later) == (0, 0)
