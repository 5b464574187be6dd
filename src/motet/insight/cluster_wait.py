"""Reasons of the live cluster for which jobs wait although no policy lets them: a second table."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from motet.domain.wait import WAITS, ReasonWords


class ClusterWait(Enum):
    """Of these jobs the engine does not know, or it has already given them slots."""

    DEPENDENCY = ReasonWords(
        name="Dependency",
        title="other jobs that have to succeed first",
        sentence="until {jobs_before}",
        advice="motet explain tells when those jobs will start; motet cancel {job} gives it up",
    )
    ARRAY_LIMIT = ReasonWords(
        name="ArrayLimit",
        title="the limit of its array",
        sentence="until {fewer_jobs} of its array are open",
        advice="its turn comes when others end; a higher limit after % lets more of them start at "
        "once",
    )
    CLUSTER_UNREACHABLE = ReasonWords(
        name="ClusterUnreachable",
        title="a cluster that could not be reached",
        sentence="the cluster cannot be reached: {refusal}",
        advice="nothing to do but to tell an admin: it starts when the cluster is back; see motet "
        "doctor",
    )
    POLICY_FAILED = ReasonWords(
        name="PolicyFailed",
        title="a policy that had failed",
        sentence="{failure}",
        advice="an admin chooses another policy: motet policy set",
    )
    SLOTS_BEING_FREED = ReasonWords(
        name="SlotsBeingFreed",
        title="slots that others had not left",
        sentence="slots are assigned to it; it waits until {leaving} stopped",
        advice="nothing to do: they stop within their preempt.grace_s",
    )
    MACHINE_LOST = ReasonWords(
        name="MachineLost",
        title="processes on a lost machine",
        sentence="its processes on a lost machine may still run",
        advice="nothing to do: processes that cannot be reached end with their lease; it goes on "
        "then",
    )
    END_UNKNOWN = ReasonWords(
        name="EndUnknown",
        title="news of the end of an attempt",
        sentence="its attempt had ended, which the server was not told yet",
        advice="nothing to do: it starts again when the server is told",
    )

    @property
    def key(self) -> str:
        """The name in documents: "array_limit"."""
        return self.name.lower()


_WORDS: Mapping[str, ReasonWords] = {
    **{wait.key: wait.reason for wait in WAITS},
    **{wait.key: wait.value for wait in ClusterWait},
}


def reason_words(key: str) -> ReasonWords:
    """The row of a reason in either table. Raises ValueError for an unknown one."""
    try:
        return _WORDS[key]
    except KeyError:
        raise ValueError(f"unknown reason to wait {key!r}") from None
