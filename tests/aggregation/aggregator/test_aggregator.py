"""Large answers are copied beside the cycle, and within it when their job's step is late."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from aggregation_training import AggregatorPool, SmallTraining
from motet.aggregation.aggregator.cycle.compute_loop import ComputeLoop
from motet.aggregation.wire.aggregator_control import CycleShare
from motet.aggregation.wire.message_kinds import AggregatorRequest
from motet.transport import Request

TRAINING = SmallTraining(shapes=((1 << 19,),), workers=1, steps=4)
OF_A_USUAL_SIZE = replace(TRAINING, shapes=((1 << 15,),))
AFTER_THE_TEST_NS = 1 << 60


@pytest.fixture
def pool() -> Iterator[AggregatorPool]:
    with AggregatorPool(1) as pool:
        yield pool


def threads_of_pulls(
    pool: AggregatorPool, monkeypatch: pytest.MonkeyPatch, training: SmallTraining = TRAINING
) -> list[str]:
    """Which thread has answered the pull of each step."""
    names: list[str] = []
    reply = Request.reply

    def noted(self: Request, *arguments: Any) -> None:
        if self.kind == AggregatorRequest.PULL:
            names.append(threading.current_thread().name)
        reply(self, *arguments)

    monkeypatch.setattr(Request, "reply", noted)
    training.run(pool.table)
    return names[-training.steps :]


def test_without_a_cycle_a_thread_copies_large_answers(
    pool: AggregatorPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert threads_of_pulls(pool, monkeypatch) == ["motet-answer"] * TRAINING.steps


@pytest.mark.parametrize("is_idle", [False, True])
def test_no_thread_is_woken_for_a_copy_that_delays_no_work(
    pool: AggregatorPool, monkeypatch: pytest.MonkeyPatch, is_idle: bool
) -> None:
    monkeypatch.setattr(ComputeLoop, "is_idle", is_idle)
    names = threads_of_pulls(pool, monkeypatch, OF_A_USUAL_SIZE)
    assert {name == "motet-answer" for name in names} == {not is_idle}


def test_the_cycle_has_the_answers_of_late_steps(
    pool: AggregatorPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Iterations of a nanosecond are late from the second on."""
    share = CycleShare(1, 1, AFTER_THE_TEST_NS, 1 << 50)
    pool.aggregators[0].set_cycle(AFTER_THE_TEST_NS, [share])
    late = ["motet-aggregate"] * (TRAINING.steps - 1)
    assert threads_of_pulls(pool, monkeypatch) == ["motet-answer", *late]
