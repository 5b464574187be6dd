"""Events of the master as records of the log: what users and the launcher did, and failures."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from motet.live.jobs.job import LiveJob
from motet.live.master.facts import (
    AttemptOver,
    ClusterDeclared,
    ClusterReached,
    Fact,
    JobAccepted,
    JobProgressed,
    PolicyFailed,
)
from motet.live.master.master import DurableStep
from motet.live.master.state import LiveState

_MASTER, _LAUNCHER = logging.getLogger("motet.master"), logging.getLogger("motet.launcher")
_LEFT_OUT = {"key", "exits", "spec", "reason"}
"""Keys of requests are their users' own; reasons may hold a line of a job's log."""
_WORDS = re.compile("(?<!^)(?=[A-Z])")


class MasterLog:
    """Logs what the master records (see MasterObserver)."""

    def __init__(self) -> None:
        self._has_launched = False

    def began(self, state: LiveState) -> None:
        """See MasterObserver."""
        _MASTER.info("journal_read", extra=_extra(jobs=len(state.jobs), active=len(state.active)))

    def stepped(
        self, steps: Sequence[DurableStep], jobs: Sequence[LiveJob], state: LiveState
    ) -> None:
        """See MasterObserver."""
        del jobs
        for step in steps:
            for fact in step.facts:
                level = _level(fact)
                if _MASTER.isEnabledFor(level):
                    _MASTER.log(level, _name(fact), extra=_extra(**_values(fact, state)))

    def launched(self) -> None:
        """See MasterObserver."""
        if self._has_launched:
            _LAUNCHER.warning("launcher_restarted", extra=_extra())
        else:
            _LAUNCHER.info("launcher_started", extra=_extra())
        self._has_launched = True


def _level(fact: Fact) -> int:
    match fact:
        case JobProgressed() | ClusterDeclared():
            return logging.DEBUG
        case AttemptOver(failure=failure) if failure:
            return logging.WARNING
        case ClusterReached(refusal) if refusal:
            return logging.WARNING
        case PolicyFailed():
            return logging.ERROR
        case _:
            return logging.INFO


def _name(fact: Fact) -> str:
    if isinstance(fact, ClusterReached) and fact.refusal:
        return "cluster_unreachable"
    return _WORDS.sub("_", type(fact).__name__).lower()


def _values(fact: Fact, state: LiveState) -> dict[str, Any]:
    named = {each.name: getattr(fact, each.name) for each in fields(fact)}
    values = {
        name: value
        for name, value in named.items()
        if name not in _LEFT_OUT and isinstance(value, str | int | float) and value != ""
    }
    if isinstance(fact, JobAccepted):
        spec = state.jobs[fact.job].spec
        values |= {"name": spec.name, "queue": spec.queue, "processes": spec.processes}
    if isinstance(fact, AttemptOver):
        cause = state.jobs[fact.job].attempts[fact.attempt - 1].stop_cause
        values |= {"cause": cause.value} if cause else {}
    return values


def _extra(**values: Any) -> dict[str, Any]:
    return {"fields": values}
