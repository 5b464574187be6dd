"""How many starts are within their predicted ranges, on workloads like those of Philly.

Run times have a long tail (log-normal, sigma 1.5), nobody declares them, and most
jobs are small. Starts in one backlog depend on the same few jobs, so several workloads are needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest

from motet.domain.units import SECOND_US
from motet.interfaces.forecasts.expected_starts import ExpectedStart, expected_starts
from motet.interfaces.forecasts.followed_journal import FollowedJournal
from motet.interfaces.forecasts.futures import PossibleFutures
from motet.live.journal.store import JournalStore
from motet.live.master.facts import ClusterDeclared
from motet.live.master.intake import ChoosePolicy
from motet.sim.generate.arrivals import Poisson
from motet.sim.generate.durations import LogNormal
from motet.sim.generate.mix import Mix
from motet.sim.generate.workload import Recipe, generate
from timed_master import TimedRows, play

CLUSTER = ClusterDeclared(("m0", "m1"), (8, 8))
NOON_US = 1_700_000_000 * SECOND_US
KNOWN_JOBS, EVERY = 40, 20
"""Jobs before the first prediction; submissions between two rounds of predictions."""
SETTINGS: Mapping[str, Mapping[str, str]] = {"tiresias-las": {"quantum_s": "60"}}


def workload(seed: int) -> TimedRows:
    recipe = Recipe(
        jobs=300,
        mix=Mix(((1, 60), (2, 20), (4, 15), (8, 5))),
        arrivals=Poisson(240.0),
        durations=LogNormal(600.0, 1.5),
    )
    drawn = generate(recipe, np.random.default_rng(seed))
    columns = (drawn.submit_us + NOON_US, drawn.duration_us, drawn.gpus)
    return [(int(s), int(d), int(g)) for s, d, g in zip(*columns, strict=True)]


def predicted(folder: Path, policy: str, seed: int) -> Iterator[tuple[ExpectedStart, int]]:
    """The first prediction of every wait at the moments of predictions, and the start."""
    rows, address = workload(seed), str(folder / f"{policy}-{seed}.db")
    with JournalStore(address) as store:
        play(store, CLUSTER, rows, ChoosePolicy(policy, SETTINGS.get(policy, {})))
    whole, journal = FollowedJournal(address), FollowedJournal(address)
    whole.read()
    seen: set[int] = set()
    for now_us in [row[0] for row in rows[KNOWN_JOBS::EVERY]]:
        journal.read(now_us)
        futures = PossibleFutures(journal.cluster, now_us, journal.position)
        wanted = futures.waiting - seen
        seen |= wanted
        for job, start in expected_starts(futures, wanted, lambda: None).items():
            attempts = whole.cluster.state.jobs[job].attempts
            yield start, min(it.requested_us for it in attempts if it.requested_us >= now_us)


def coverage(folder: Path, policy: str, seeds: range) -> float:
    found = [pair for seed in seeds for pair in predicted(folder, policy, seed)]
    assert len(found) > 10 * len(seeds)
    assert all(start.is_known for start, _ in found)
    inside = [(it.low_us or 0) <= really_us <= (it.high_us or 0) for it, really_us in found]
    return float(np.mean(inside))


def test_nine_of_ten_starts_are_within_their_ranges(tmp_path: Path) -> None:
    assert 0.85 <= coverage(tmp_path, "fifo", range(4)) <= 0.95


@pytest.mark.soak
@pytest.mark.parametrize(("policy", "least"), [("best-effort", 0.8), ("tiresias-las", 0.8)])
def test_later_submissions_that_go_ahead_cost_little_coverage(
    tmp_path: Path, policy: str, least: float
) -> None:
    assert least <= coverage(tmp_path, policy, range(10)) <= 0.97
