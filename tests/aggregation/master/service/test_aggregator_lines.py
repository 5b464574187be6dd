"""What pMaster's log says of operations that fail: a line each, once, and not of known ends."""

from __future__ import annotations

import queue
from collections.abc import Iterator, Sequence
from unittest.mock import Mock

import pytest

from fake_aggregators import FakeLauncher
from motet.aggregation.master.service import aggregator_lines
from motet.aggregation.master.service.aggregator_lines import AggregatorLines
from motet.aggregation.master.state.events import OperationDone, OperationFailed, PoolEvent
from motet.aggregation.master.state.instructions import MoveTo, PoolOperation, SetCycleOn
from motet.domain.errors import NotFound


class Lines:
    """Lines to Aggregators 0 and 1; `run` carries an operation out and returns what it reports."""

    def __init__(self) -> None:
        self.launcher = FakeLauncher()
        self._events: queue.SimpleQueue[PoolEvent] = queue.SimpleQueue()
        self.lines = AggregatorLines(self.launcher.connect, self._events.put, 3600.0)
        for number in (0, 1):
            self.lines.add(number, self.launcher.start(number))

    def run(self, operation: PoolOperation) -> PoolEvent:
        self.lines.carry_out(operation, None)
        return self._events.get(timeout=60)


@pytest.fixture
def lines() -> Iterator[Lines]:
    found = Lines()
    yield found
    found.lines.close()


def move(operation: int) -> MoveTo:
    return MoveTo(operation, 0, 7, tuple(range(393)), 1)


def test_repetitions_of_an_operation_that_fails_are_one_line(
    lines: Lines, caplog: pytest.LogCaptureFixture
) -> None:
    control = lines.launcher.controls[0]
    control.is_dead = True
    reason = "this Aggregator has ended"
    assert [lines.run(move(n)) for n in (1, 2)] == [OperationFailed(n, reason) for n in (1, 2)]
    line = f"Aggregator 0: moving 393 tensors of job 7 to Aggregator 1 failed: {reason}"
    assert caplog.messages == [line]
    control.is_dead = False
    assert lines.run(move(3)) == OperationDone(3)
    control.is_dead = True
    lines.run(move(4))
    assert caplog.messages == [line, line]


@pytest.mark.parametrize("ended", [0, 1])
def test_the_end_of_an_aggregator_is_no_failure_of_what_was_under_way(
    lines: Lines, caplog: pytest.LogCaptureFixture, ended: int
) -> None:
    lines.lines.remove(ended)
    assert lines.run(move(1)) == OperationFailed(1, f"Aggregator {ended} has ended")
    assert caplog.messages == []


def test_a_defect_is_logged_with_its_traceback_and_ends_the_operation(
    lines: Lines, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines.launcher.controls[0], "move", Mock(side_effect=KeyError(1)))
    assert [lines.run(move(n)) for n in (1, 2)] == [
        OperationFailed(n, "KeyError(1)") for n in (1, 2)
    ]
    assert [each.exc_info is not None for each in caplog.records] == [True]


def test_what_is_not_there_yet_is_told_when_it_does_not_come(
    lines: Lines, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aggregator_lines, "USUAL_REPETITIONS", 3)

    def move_in_vain(job: int, tensors: Sequence[int], peer: str) -> None:
        raise NotFound("tensor 0 of job 7 is not here")

    monkeypatch.setattr(lines.launcher.controls[0], "move", move_in_vain)
    counts = []
    for number in range(5):
        lines.run(move(number))
        counts.append(len(caplog.messages))
    assert counts == [0, 0, 1, 1, 1]


def test_other_operations_on_it_have_lines_of_their_own(
    lines: Lines, caplog: pytest.LogCaptureFixture
) -> None:
    lines.launcher.controls[0].is_dead = True
    lines.run(move(1))
    lines.run(SetCycleOn(2, 0, 0, ()))
    assert caplog.messages[1:] == [
        "Aggregator 0: telling its cycle failed: this Aggregator has ended"
    ]
