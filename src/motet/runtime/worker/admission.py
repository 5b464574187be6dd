"""Entering the gate: how long a subtask waits for it counts in the log of its worker."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from motet.runtime.core.subtask import Clock, SubtaskKind, SubtaskLog
from motet.runtime.worker.subtask_gate import SubtaskGate


def admitted(
    gate: SubtaskGate, kind: SubtaskKind, log: SubtaskLog, now_us: Clock
) -> AbstractContextManager[bool]:
    """As `gate.enter`; the time until it admits is added to `log.gate_us`.

    A free gate admits at once, so there no clock is read: a job that is alone pays nothing.
    """
    return gate.enter(kind) if gate.is_free else _timed(gate, kind, log, now_us)


@contextmanager
def _timed(gate: SubtaskGate, kind: SubtaskKind, log: SubtaskLog, now_us: Clock) -> Iterator[bool]:
    asked_us = now_us()
    with gate.enter(kind) as yields:
        log.gate_us += now_us() - asked_us
        yield yields
