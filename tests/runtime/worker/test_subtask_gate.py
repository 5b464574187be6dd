"""The wait for a gate is counted in the log; a gate that is free costs no reading of a clock."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from motet.runtime.core.subtask import SubtaskKind, SubtaskLog
from motet.runtime.worker.subtask_gate import OPEN_GATE, admitted


class Now:
    """A clock that is set."""

    us = 0

    def __call__(self) -> int:
        return self.us


class SlowGate:
    """Admits every subtask, which yields, after so long."""

    is_free = False

    def __init__(self, now: Now, wait_us: int) -> None:
        self._now, self._wait_us = now, wait_us

    def begin(self) -> None:
        """Does nothing."""

    def enter(self, kind: SubtaskKind) -> AbstractContextManager[bool]:
        """See SubtaskGate."""
        return self._entered(kind)

    @contextmanager
    def _entered(self, kind: SubtaskKind) -> Iterator[bool]:
        self._now.us += self._wait_us
        yield kind is SubtaskKind.PULL


def test_the_waits_are_added_up_and_the_subtasks_are_not() -> None:
    now, log = Now(), SubtaskLog()
    gate = SlowGate(now, 30)
    yields = []
    for kind in (SubtaskKind.PULL, SubtaskKind.COMP):
        with admitted(gate, kind, log, now) as each:
            yields.append(each)
            now.us += 500
    assert log.gate_us == 60
    assert yields == [True, False]


def test_a_free_gate_is_entered_without_a_look_at_the_clock() -> None:
    asked: Callable[[], int] = [].pop
    log = SubtaskLog()
    with admitted(OPEN_GATE, SubtaskKind.COMP, log, asked) as yields:
        assert not yields
    assert log.gate_us == 0
