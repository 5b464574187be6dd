"""What a job that configures itself starts with, by its flags and by what is there."""

from __future__ import annotations

import pytest

from in_process_cluster import InProcessCluster
from motet.interfaces.cli.train.auto import LOGICAL_MACHINES, AutoStart
from motet.interfaces.cli.train.cluster_shape import ClusterShape
from motet.runtime.core.options import TrainOptions


def begun(start: AutoStart, present: int, most_workers: int = 96) -> tuple[int, int, int]:
    """Machines, workers, servers on a cluster with so many machines."""
    shape = start.shape
    options = TrainOptions(shape.machines, shape.workers, shape.servers, epochs=1)
    options = start.on(InProcessCluster(present), options, most_workers)
    return options.machines, options.workers, options.servers


@pytest.mark.parametrize(
    ("workers", "servers", "present", "expected"),
    [
        (None, None, 1, (1, 1, 1)),
        (None, None, 5, (5, 4, 1)),
        (2, None, 5, (5, 2, 3)),
        (None, 2, 5, (5, 3, 2)),
        (1, 2, 5, (5, 1, 2)),
    ],
)
def test_everything_that_is_there_is_used_unless_roles_are_given(
    workers: int | None, servers: int | None, present: int, expected: tuple[int, int, int]
) -> None:
    start = AutoStart(None, workers, servers, is_embedded=False)
    assert begun(start, present) == expected


def test_more_workers_than_data_blocks_are_not_begun_with() -> None:
    start = AutoStart(None, None, None, is_embedded=False)
    assert begun(start, present=9, most_workers=3) == (9, 3, 1)


def test_a_cluster_need_not_have_all_machines_that_may_be_used() -> None:
    start = AutoStart(8, None, None, is_embedded=False)
    assert (start.least_machines, start.most_machines) == (1, 8)
    assert AutoStart(8, 2, 3, is_embedded=False).least_machines == 3
    assert AutoStart(None, 4, 4, is_embedded=False).shape == ClusterShape(4, 4, 4)
    assert AutoStart(None, None, None, is_embedded=False).most_machines > 1000


def test_an_embedded_cluster_has_the_requested_machines() -> None:
    assert AutoStart(None, None, None, is_embedded=True).most_machines == LOGICAL_MACHINES
    assert AutoStart(None, 5, 3, is_embedded=True).most_machines == 8
    assert AutoStart(6, None, None, is_embedded=True).most_machines == 6
