"""The gate that every PULL, COMP and PUSH of a worker passes.

A job that has its machines to itself uses `OpenGate`. Where workers of several jobs share a
machine, an arbiter implements the gate, so that one job computes while another one communicates
(Harmony, W.-Y. Lee 2020, ch. 4). An executor takes the gate with its `WorkerResources`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Protocol

from motet.runtime.core.subtask import Clock, SubtaskKind, SubtaskLog


class SubtaskGate(Protocol):
    """Admits subtasks.

    `is_free`: `enter` never waits and excludes no other subtask. For any other gate a worker first
    waits until its mini-batch has begun and enters for PULL only then, so a gate is not held while
    a server parks the pull. (Under SSP a worker that joins in between can still have the pull
    parked, until it has caught up.)
    """

    @property
    def is_free(self) -> bool:
        """Whether `enter` never waits."""
        ...

    def begin(self) -> None:
        """The worker's next mini-batch begins; called unless `is_free`."""
        ...

    def enter(self, kind: SubtaskKind) -> AbstractContextManager[bool]:
        """Wait for admission; the subtask runs inside the context and may raise.

        The context's value: whether it yields to a subtask of another job, and so may take longer
        than alone.
        """
        ...


class OpenGate:
    """Admits every subtask at once."""

    is_free = True

    def begin(self) -> None:
        """Does nothing."""

    def enter(self, kind: SubtaskKind) -> AbstractContextManager[bool]:
        """A context that does nothing; one object serves all threads."""
        del kind
        return _OPEN


_OPEN = nullcontext(False)
OPEN_GATE = OpenGate()


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
