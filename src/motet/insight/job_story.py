"""The story of a job, with what its sentences need beside it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from motet.insight.holders.meanwhile import Meanwhile
from motet.insight.sentences import Rules
from motet.insight.story import Story


@dataclass(frozen=True)
class RulesInForce:
    """`last`: of the present policy; `earlier`: of those before, each with the time of the change
    that ended it, ascending."""

    last: Rules
    earlier: tuple[tuple[int, Rules], ...] = ()

    def at(self, time_us: int) -> Rules:
        """The rules by which was decided at a time: at that of a change, those after it."""
        return next((rules for end_us, rules in self.earlier if time_us < end_us), self.last)


@dataclass(frozen=True)
class JobStory:
    """`policy`: of the run, at its end; `rules`: of the queues of the policies in force.

    `meanwhile`: the jobs that held GPUs while this job waited. `zero`: the date of time 0.
    """

    policy: str
    rules: RulesInForce
    story: Story
    meanwhile: Meanwhile
    zero: datetime | None = None

    def moment(self, time_us: int) -> datetime | None:
        """A time of the story as a date; None if the log has no dates."""
        return None if self.zero is None else self.zero + timedelta(microseconds=time_us)


def queue_rules(params: Mapping[str, Any]) -> Rules:
    """Rules of the queues of Tiresias from its parameters; empty for other policies."""
    try:
        knob = float(params["promote_knob"])
        thresholds = tuple(float(limit) for limit in params["thresholds"])
    except (KeyError, ValueError, TypeError):
        return Rules()
    return Rules(thresholds, knob if math.isfinite(knob) else None)
