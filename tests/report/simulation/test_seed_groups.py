"""Groups of runs that differ in their seed only, and their labels."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from motet.report.simulation.seed_groups import PairedGroups, seed_groups
from motet.report.simulation.stored_run import StoredRun
from simulated_runs import RUN

HERE, THERE = Path("here"), Path("there")


def run(
    policy: str, seed: int, mean_s: float = 10.0, params: str = "", sha: str = "0"
) -> StoredRun:
    document = {
        "policy": policy,
        "seed": seed,
        "params": {"knob": params},
        "trace_sha256": sha,
        "jct_s": {"mean": mean_s, "median": mean_s, "p95": mean_s},
    }
    return StoredRun(document, replace(RUN, label=policy), "jobs.csv", "15x4")


def test_runs_of_equal_settings_are_a_group() -> None:
    runs = [(HERE, run("fifo", 0)), (HERE, run("las", 0)), (THERE, run("fifo", 1))]
    groups = seed_groups(runs)

    assert [(group.label, list(group.runs)) for group in groups] == [("fifo", [0, 1]), ("las", [0])]
    assert {each.cluster_run.label for each in groups[0].runs.values()} == {"fifo"}


def test_groups_of_one_label_are_told_apart_by_their_folder() -> None:
    groups = seed_groups([(HERE, run("las", 0)), (THERE, run("las", 0, params="2"))])

    assert [group.label for group in groups] == ["las in here", "las in there"]


def test_a_seed_that_occurs_twice_makes_two_groups() -> None:
    groups = seed_groups([(HERE, run("las", 0)), (HERE, run("las", 0))])

    assert [group.label for group in groups] == ["las in here #1", "las in here #2"]
    assert [list(group.runs) for group in groups] == [[0], [0]]


def test_ratios_are_of_runs_with_the_same_seed() -> None:
    first, other = seed_groups(
        [
            *((HERE, run("fifo", seed, 10.0 * (seed + 1))) for seed in (0, 1)),
            *((HERE, run("las", seed, 30.0)) for seed in (1, 2)),
        ]
    )
    paired = PairedGroups.of(first, other)

    assert list(paired.by_seed) == [1]
    assert paired.estimates.relative(("jct_s", "mean")).mean == pytest.approx(1.5)
    assert paired.ratios(1)["relative_jct"]["mean"] == pytest.approx(1.5)
    assert math.isnan(paired.ratios(2)["relative_jct"]["mean"])


def test_two_single_runs_are_paired_whatever_their_seeds() -> None:
    first, other = seed_groups([(HERE, run("fifo", 0)), (HERE, run("las", 5, 20.0))])

    assert PairedGroups.of(first, other).ratios(5)["relative_jct"]["mean"] == pytest.approx(2)


def test_pairs_of_different_traces_are_noticed() -> None:
    first, same, another = seed_groups(
        [(HERE, run("fifo", 0)), (HERE, run("las", 0)), (HERE, run("srtf", 0, sha="1"))]
    )

    assert PairedGroups.of(first, same).is_of_same_jobs
    assert not PairedGroups.of(first, another).is_of_same_jobs
