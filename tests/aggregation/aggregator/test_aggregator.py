"""Large answers are copied beside the cycle, and within it when their job's step is late."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from aggregation_training import AggregatorPool, SmallTraining
from motet.aggregation.wire.aggregator_control import CycleShare
from motet.aggregation.wire.message_kinds import AggregatorRequest
from motet.transport import Request

TRAINING = SmallTraining(shapes=((1 << 15,),), workers=1, steps=4)
AFTER_THE_TEST_NS = 1 << 60


@pytest.fixture
def pool() -> Iterator[AggregatorPool]:
    with AggregatorPool(1) as pool:
        yield pool


def threads_of_pulls(pool: AggregatorPool, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which thread has answered the pull of each step."""
    names: list[str] = []
    reply = Request.reply

    def noted(self: Request, *arguments: Any) -> None:
        if self.kind == AggregatorRequest.PULL:
            names.append(threading.current_thread().name)
        reply(self, *arguments)

    monkeypatch.setattr(Request, "reply", noted)
    TRAINING.run(pool.table)
    return names[-TRAINING.steps :]


def test_without_a_cycle_a_thread_copies_large_answers(
    pool: AggregatorPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert threads_of_pulls(pool, monkeypatch) == ["motet-answer"] * TRAINING.steps


def test_the_cycle_has_the_answers_of_late_steps(
    pool: AggregatorPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Iterations of a nanosecond are late from the second on."""
    share = CycleShare(1, 1, AFTER_THE_TEST_NS, 1 << 50)
    pool.aggregators[0].set_cycle(AFTER_THE_TEST_NS, [share])
    late = ["motet-aggregate"] * (TRAINING.steps - 1)
    assert threads_of_pulls(pool, monkeypatch) == ["motet-answer", *late]
