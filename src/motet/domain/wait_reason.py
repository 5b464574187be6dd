"""What a row of the tables of wait reasons states: see `motet.domain.wait`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, StrEnum, auto


class DelayCause(StrEnum):
    """Causes of queueing delay, as in the analysis of Philly's logs (Jeon et al., ATC 2019)."""

    FAIR_SHARE = "fair_share"
    """The job's queue used all of its quota, or holds more than other queues with waiting jobs."""
    FRAGMENTATION = "fragmentation"
    """Enough GPUs are free, but on too many machines for the job or for the job at the head of the
    line, or on machines without enough free CPUs or memory."""
    POLICY_ORDER = "policy_order"
    """The policy allocated the GPUs to other jobs, whether or not this job fits."""


class BlockerRule(Enum):
    """Which jobs block a job that waits."""

    HOLDERS_BEFORE = auto()
    """Jobs with GPUs before it in the policy's order; without an order, all jobs with GPUs."""
    HEAD_OF_LINE = auto()
    """The first job whose reason does not depend on another waiting job."""
    HOLDERS_OF_QUEUE = auto()
    """Jobs with GPUs in the same queue."""
    ALL_HOLDERS = auto()
    """All jobs with GPUs."""


@dataclass(frozen=True)
class ReasonWords:
    """`name`: in CamelCase, unique. `title`: a few words, for sums of waiting time. `sentence`: the
    template of one wait. `advice`: what the user of the job could do, with `{job}` for its id."""

    name: str
    title: str
    sentence: str
    advice: str


@dataclass(frozen=True)
class WaitReason(ReasonWords):
    """A row of the table.

    `cause`: the class of delay. `blockers`: which jobs block this one.
    `compares`: what `Reasons.measure` and `Reasons.bar` are; empty: the policy compares nothing.
    `is_timed`: the wait may end when the policy decides again by itself, so the log has that time.
    """

    cause: DelayCause
    blockers: BlockerRule = BlockerRule.HOLDERS_BEFORE
    compares: str = ""
    is_timed: bool = False
