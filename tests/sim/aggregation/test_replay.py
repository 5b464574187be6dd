"""The simulated pool: small cases by hand, the seed's counts, and what holds for every log."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from motet.aggregation.rule_defaults import LOSS_LIMIT
from motet.sim.aggregation.history import ServiceHistory
from motet.sim.aggregation.replay import replay
from service_cases import Row, jobs_of, rules

S = 1_000_000
LONG_S = 10_000.0


def at(history: ServiceHistory, time_s: float) -> tuple[int, int]:
    """Aggregators of the pool, and those of single jobs."""
    place = int(np.searchsorted(history.at_us, time_s * S, side="right")) - 1
    return int(history.shared[place]), int(history.own[place])


def test_a_job_is_measured_on_as_many_aggregators_as_it_has_servers_and_then_shares() -> None:
    """100 iterations of 0.55 s: two VGG19 jobs need an Aggregator together."""
    history = replay(jobs_of([("vgg19", 0, 300, 8), ("vgg19", 100, 100, 8)]), rules())
    assert at(history, 0) == (0, 2)
    assert at(history, 60) == (1, 0)
    assert at(history, 110) == (1, 2)
    assert at(history, 160) == (1, 0)
    assert at(history, 250) == (1, 0)
    assert at(history, 300) == (0, 0)


def test_a_job_that_ends_while_it_is_measured_never_shares() -> None:
    history = replay(jobs_of([("bert", 0, 20, 16)]), rules())
    assert history.shared.tolist() == [0, 0]
    assert history.own.tolist() == [4, 0]


def test_a_job_waits_for_the_end_of_the_period_unless_it_needs_many_aggregators() -> None:
    rows: list[Row] = [("bert", 0, LONG_S, 8)]
    waits = replay(jobs_of(rows), rules(on_demand=4))
    assert at(waits, 599) == (0, 2)
    assert at(waits, 600) == (1, 0)
    assert at(replay(jobs_of(rows), rules(on_demand=0)), 599) == (1, 0)


def test_aggregators_are_consolidated_at_the_end_of_a_period() -> None:
    """The first of three jobs ends; the other two fit on one Aggregator."""
    rows: list[Row] = [("vgg19", 0, 610, 16), ("vgg19", 0, LONG_S, 4), ("vgg19", 0, LONG_S, 4)]
    history = replay(jobs_of(rows), rules())
    assert at(history, 609) == (2, 0)
    assert at(history, 1_200) == (1, 0)


@pytest.mark.parametrize(
    ("model", "jobs", "servers", "aggregators"),
    [
        ("alexnet", 2, 2, 3),
        ("alexnet", 2, 4, 5),
        ("vgg19", 4, 2, 2),
        ("awd-lm", 2, 2, 2),
        ("awd-lm", 2, 4, 4),
        ("bert", 2, 2, 2),
        ("bert", 2, 4, 4),
    ],
)
def test_jobs_of_a_model_need_as_many_aggregators_as_in_the_seed(
    model: str, jobs: int, servers: int, aggregators: int
) -> None:
    """Figure 4.9 and table 4.4."""
    history = replay(jobs_of([(model, 0, LONG_S, 4 * servers)] * jobs), rules())
    assert at(history, LONG_S - 1) == (aggregators, 0)


ROWS = st.tuples(
    st.sampled_from(["alexnet", "vgg19", "awd-lm", "bert"]),
    st.integers(0, 2_000).map(float),
    st.integers(1, 2_000).map(float),
    st.integers(1, 40),
)


@settings(max_examples=30)
@given(
    st.lists(ROWS, min_size=1, max_size=12),
    st.sampled_from([0, 3, 1_000]),
    st.sampled_from([0.0, 0.3]),
)
def test_every_running_job_is_served_and_none_loses_the_limit(
    rows: list[Row], on_demand: int, contention: float
) -> None:
    jobs = jobs_of(rows)
    if not len(jobs):
        return
    history = replay(jobs, rules(on_demand=on_demand, contention=contention))
    runs = (jobs.arrives_us <= history.at_us[:, None]) & (history.at_us[:, None] < jobs.ends_us)
    assert history.running.tolist() == runs.sum(axis=1).tolist()
    assert history.servers.tolist() == (runs @ jobs.servers).tolist()
    assert (history.aggregators[history.running > 0] > 0).all()
    assert history.aggregators[-1] == 0
    assert (history.job_largest_loss < LOSS_LIMIT).all()
    assert (history.job_loss <= history.job_largest_loss + 1e-12).all()
    work = np.array([each.work_ns / each.iteration_ns for each in jobs.profiles])
    least = (1 - LOSS_LIMIT) * (runs @ work)
    assert (history.aggregators >= least - 1e-9).all()
