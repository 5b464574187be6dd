"""The policies that the documentation shows do what it says of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from elastic_workloads import Row, elastic_workload, rows_on
from example_count import examples
from motet.domain.cluster import ClusterSpec
from motet.domain.errors import MotetError
from motet.domain.snapshot import Snapshot
from motet.domain.units import NEVER_US, SECOND_US
from motet.engine.journal.decision_log import DecisionLog
from motet.engine.policy_loading.catalogue import find_policies
from motet.sim.experiment import Experiment
from policy_snapshots import snapshot

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SOONEST_END = EXAMPLES / "soonest_end.py"
CLUSTER = ClusterSpec.of([4, 4])
NAN = float("nan")


def soonest_end(**parameters: float) -> Any:
    return find_policies(str(SOONEST_END))["soonest-end"](**parameters)


@pytest.mark.parametrize("name", ["longest_waiting.py", "soonest_end.py"])
@settings(max_examples=examples(20))
@given(rows=rows_on(CLUSTER.gpu_count))
def test_elastic_and_rigid_jobs_all_finish(name: str, rows: list[Row]) -> None:
    log = DecisionLog()
    outcome = Experiment(str(EXAMPLES / name)).run(elastic_workload(rows), CLUSTER, journal=log)
    assert outcome.is_finished.all()
    assert len(log) >= 2 * len(rows)


def test_unmeasured_jobs_run_first_then_the_earliest_end() -> None:
    seen = snapshot(ClusterSpec.of([2]), 4, known={"steps_left": [20, NAN, 10, 5]})
    assert soonest_end().decide(seen).gpus.tolist() == [0, 1, 0, 1]


def test_a_job_gets_no_workers_of_little_gain() -> None:
    """Workers of the first job only share its work: of four each does a quarter."""
    shared = (0.0, 0.0, 1.0, 0.0, 0.0, 1.0)
    seen = snapshot(ClusterSpec.of([8]), 2, gpus=4, workers=4, max_workers=4)
    assert seen.estimates is not None
    speed = np.array([shared, seen.estimates.speed[1]])
    seen = replace(seen, estimates=replace(seen.estimates, speed=speed))
    for efficiency, workers in ((0.6, [1, 4]), (0.3, [2, 4]), (0.2, [4, 4])):
        assert soonest_end(efficiency=efficiency).decide(seen).workers.tolist() == workers


def test_the_policy_rechecks_only_while_elastic_jobs_exist() -> None:
    def asks_at(seen: Snapshot) -> int:
        at_us: int = soonest_end(interval_s=7).decide(seen).recheck_at_us
        return at_us

    assert asks_at(snapshot(CLUSTER, 1, max_workers=4, now_s=3)) == 10 * SECOND_US
    assert asks_at(snapshot(CLUSTER, 1)) == NEVER_US


def test_without_estimates_the_error_names_what_is_missing() -> None:
    seen = replace(snapshot(CLUSTER, 1), estimates=None)
    with pytest.raises(MotetError, match="declares wants_estimates: ClassVar"):
        soonest_end().decide(seen)
