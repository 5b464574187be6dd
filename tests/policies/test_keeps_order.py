"""Policies that declare `keeps_order`: later submissions change nothing for earlier jobs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from example_count import examples
from motet.domain.cluster import ClusterSpec
from motet.domain.units import SECOND_US
from motet.engine.policy_loading.catalogue import built_in_policies
from motet.sim.experiment import Experiment
from motet.sim.workload.workload import Workload

CLUSTER = ClusterSpec.of([4, 2])
KEEPING = sorted(name for name, each in built_in_policies().items() if each.keeps_order)
jobs = st.lists(
    st.tuples(st.integers(0, 20), st.integers(1, 30), st.integers(1, 6)), min_size=1, max_size=8
)


def ends_us(rows: Any, policy: str) -> list[int]:
    columns = (np.array(rows, np.int64) * (SECOND_US, SECOND_US, 1)).T
    workload = Workload.of(tuple(map(str, range(len(rows)))), *columns)
    experiment = Experiment(policy, {"placement": "count"})
    return experiment.run(workload, CLUSTER).columns["end_us"].tolist()


def test_fifo_keeps_the_order_and_best_effort_does_not() -> None:
    assert "fifo" in KEEPING
    assert "best-effort" not in KEEPING
    blocked = [(0, 10, 4), (1, 10, 6)]
    later = [(2, 30, 2)]
    assert ends_us([*blocked, *later], "best-effort")[1] > ends_us(blocked, "best-effort")[1]


@pytest.mark.parametrize("policy", KEEPING)
@settings(max_examples=examples(60))
@given(drawn=jobs.map(sorted), more=jobs)
def test_later_submissions_do_not_delay_earlier_jobs(policy: str, drawn: Any, more: Any) -> None:
    last_s = drawn[-1][0]
    later = sorted((last_s + submit_s, run_s, slots) for submit_s, run_s, slots in more)
    assert ends_us([*drawn, *later], policy)[: len(drawn)] == ends_us(drawn, policy)
