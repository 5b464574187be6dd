"""No worker begins a mini-batch before the controller has decided what changes with it."""

from __future__ import annotations

import queue
import threading

import numpy as np
import pytest

from motet.runtime.wire.errors import StaleGeneration
from motet.runtime.wire.ownership import Ownership, WorkChange
from motet.runtime.worker.step_gate import StepGate

DATA = Ownership(1, np.zeros(1, np.int32))


def change(number: int, clock: int) -> WorkChange:
    return WorkChange(number, clock, (0,), DATA)


class Runner:
    """A worker that begins mini-batch after mini-batch."""

    def __init__(self, gate: StepGate, last: int) -> None:
        self.begun: queue.Queue[tuple[int, WorkChange | None]] = queue.Queue()
        self._gate = gate
        self._thread = threading.Thread(target=self._run, args=(last,), daemon=True)
        self._thread.start()

    def _run(self, last: int) -> None:
        for clock in range(last):
            self.begun.put((clock, self._gate.begin(clock)))

    def clocks(self, count: int) -> list[int]:
        return [self.begun.get(timeout=100)[0] for _ in range(count)]


def test_a_held_worker_stops_where_it_said() -> None:
    gate = StepGate(0)
    held_at = gate.hold(1)
    runner = Runner(gate, 5)
    assert runner.clocks(held_at) == list(range(held_at))
    assert runner.begun.empty()
    gate.decide(change(1, held_at))
    assert runner.clocks(5 - held_at) == list(range(held_at, 5))


def test_a_change_happens_at_its_mini_batch_and_only_there() -> None:
    gate = StepGate(0)
    decided = change(1, gate.hold(1) + 2)
    gate.decide(decided)
    runner = Runner(gate, 6)
    seen = [runner.begun.get(timeout=100)[1] for _ in range(6)]
    assert [one is decided for one in seen] == [clock == decided.clock for clock in range(6)]


def test_a_late_copy_of_a_hold_does_not_hold_again() -> None:
    gate = StepGate(0)
    gate.hold(1)
    gate.decide(change(1, 2))
    gate.hold(1)
    assert Runner(gate, 6).clocks(6) == list(range(6))


def test_an_idle_executor_begins_with_the_change_that_makes_it_a_worker() -> None:
    gate = StepGate(0)
    gate.decide(change(1, 7))
    assert gate.wait_for_work() == 7
    assert gate.begin(7) is not None


def test_the_end_wakes_everybody() -> None:
    gate = StepGate(0)
    gate.hold(1)
    gate.end()
    assert gate.wait_for_work() is None
    with pytest.raises(StaleGeneration):
        gate.begin(5)
