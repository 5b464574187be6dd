"""Which waiting jobs can never start."""

from __future__ import annotations

from typing import Any

import pytest

from motet.domain.cluster import ClusterSpec
from motet.domain.queues.queue_limits import QueueLimits, Queues
from motet.domain.snapshot import Placement
from motet.domain.wait import Wait
from motet.engine.state.barred_jobs import are_all_barred, barred_jobs
from motet.engine.state.cluster_state import ClusterState
from motet.engine.state.proposed_sizes import TAKES_PROPOSALS

QUEUES = Queues(
    ("default", "small", "held"),
    (QueueLimits(), QueueLimits(guarantee=1, borrow=2), QueueLimits(is_held=True)),
)


def state_of(*jobs: dict[str, int], closed: tuple[int, ...] = ()) -> ClusterState:
    """Two machines with 4 GPUs; only the second one has more than 8 CPUs."""
    state = ClusterState(ClusterSpec.of([4, 4], cpus=[8, 32]), {}, {}, QUEUES)
    for number, columns in enumerate(jobs):
        state.submitted({"number": number, "submit_us": 0, "queue": 0, "gpus": 1, **columns})
    for machine in closed:
        state.machines.close(machine)
    return state


@pytest.mark.parametrize(
    ("columns", "closed", "why"),
    [
        ({"gpus": 8}, (), None),
        ({"gpus": 5}, (1,), Wait.MACHINES_DRAINED),
        ({"gpus": 4}, (1,), None),
        ({"gpus": 4}, (0, 1), Wait.MACHINES_DRAINED),
        ({"gpus": 9}, (1,), Wait.TOO_FEW_GPUS),
        ({"gpus": 2, "cpus": 10}, (), None),
        ({"gpus": 2, "cpus": 10}, (1,), Wait.TOO_FEW_CPUS),
        ({"gpus": 3, "queue": 1}, (), None),
        ({"gpus": 4, "queue": 1}, (), Wait.QUEUE_LIMIT),
        ({"gpus": 1, "queue": 2}, (), Wait.QUEUE_HELD),
    ],
)
def test_a_job_is_barred_if_it_could_not_start_alone(
    columns: dict[str, int], closed: tuple[int, ...], why: Any
) -> None:
    state = state_of(columns, closed=closed)
    assert barred_jobs(state, keeps_requests=False) == ({} if why is None else {0: why})
    assert are_all_barred(state, keeps_requests=False) is (why is not None)


def test_gpus_that_a_guarantee_keeps_may_be_all_that_open_machines_have() -> None:
    queues = Queues(("default", "prod"), (QueueLimits(), QueueLimits(guarantee=4, lend=0)))
    state = ClusterState(ClusterSpec.of([4, 4]), {}, {}, queues)
    state.submitted({"number": 0, "submit_us": 0, "queue": 0, "gpus": 1})
    assert not barred_jobs(state, keeps_requests=False)
    state.machines.close(1)
    assert barred_jobs(state, keeps_requests=False) == {0: Wait.MACHINES_DRAINED}


@pytest.mark.parametrize(
    ("min_workers", "keeps_requests", "proposes", "is_barred"),
    [
        (4, False, 0, False),
        (5, False, 0, True),
        (4, True, 0, True),
        (4, True, 1, False),
        (5, True, 1, True),
    ],
)
def test_an_elastic_job_needs_its_smallest_size_or_its_request(
    min_workers: int, keeps_requests: bool, proposes: int, is_barred: bool
) -> None:
    sizes = {"workers": 8, "max_workers": 8, "min_workers": min_workers, "worker_gpus": 1}
    state = state_of({"gpus": 8, **sizes, TAKES_PROPOSALS: proposes}, closed=(1,))
    assert are_all_barred(state, keeps_requests=keeps_requests) is is_barred


def test_what_other_jobs_hold_bars_none_and_jobs_that_hold_gpus_are_not_barred() -> None:
    state = state_of({"gpus": 8}, {"gpus": 4}, {"queue": 2})
    state.started(0, Placement((0, 1), (4, 4)), 8, 0)
    assert barred_jobs(state, keeps_requests=False) == {2: Wait.QUEUE_HELD}
    assert not are_all_barred(state, keeps_requests=False)
