"""The controller's process is killed at a step of a reconfiguration: a resumed job loses nothing.

Executors end with their controller (on Ray, too), so that all that is left is the checkpoints.
"""

from __future__ import annotations

import functools
import multiprocessing
import signal
from pathlib import Path

import numpy as np
import pytest

from in_process_cluster import InProcessCluster
from killed_controller import (
    DESTINATION,
    EPOCHS,
    NEWCOMER,
    PLAN_EPOCH,
    SOURCE,
    train,
    train_until_killed,
)
from motet.runtime.core.reporting.reports import TrainResult
from motet.runtime.wire.messages import RequestKind
from soak_cases import others_in_soak

STEPS = [
    (SOURCE, RequestKind.MOVE_BLOCKS, 1),
    (DESTINATION, RequestKind.LEARN_OWNERS, 1),
    (DESTINATION, RequestKind.TAKE_BLOCK, 1),
    (DESTINATION, RequestKind.TAKE_BLOCK, 3),
    (DESTINATION, RequestKind.SETTLE, 1),
    (SOURCE, RequestKind.LEARN_OWNERS, 1),
    (0, RequestKind.PREPARE_WORK, 1),
    (1, RequestKind.HOLD, 1),
    (1, RequestKind.CHANGE_WORK, 1),
    (0, RequestKind.MEET, 1),
    (NEWCOMER, RequestKind.CHANGE_WORK, 1),
    (SOURCE, RequestKind.DISMISS, 1),
]


@functools.cache
def undisturbed() -> TrainResult:
    return train(InProcessCluster(5), None)


@functools.cache
def processes() -> multiprocessing.context.ForkServerContext:
    """Each is a fork of one that has imported everything and has no threads."""
    made = multiprocessing.get_context("forkserver")
    made.set_forkserver_preload(["killed_controller"])
    return made


@pytest.mark.parametrize(("executor", "kind", "nth"), others_in_soak(STEPS, STEPS[5:6]))
def test_a_controller_killed_at_any_step_of_a_reconfiguration_loses_nothing(
    executor: int, kind: RequestKind, nth: int, tmp_path: Path
) -> None:
    controller = processes().Process(
        target=train_until_killed, args=(tmp_path, executor, kind, nth)
    )
    controller.start()
    controller.join(timeout=60)
    assert controller.exitcode == -signal.SIGKILL

    result = train(InProcessCluster(5), tmp_path, resume=True)
    assert result.resumed_from_epoch is not None
    assert result.resumed_from_epoch >= PLAN_EPOCH
    assert [report.error for report in result.reconfigurations] == [""]
    np.testing.assert_allclose(result.app.coef_, undisturbed().app.coef_, rtol=1e-10, atol=1e-13)
    assert result.app.visits_.tolist() == [float(EPOCHS)] * 203
