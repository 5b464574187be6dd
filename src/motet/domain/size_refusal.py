"""Why a job does not get the size that it proposed: one table."""

from __future__ import annotations

from enum import Enum


class SizeRefusal(Enum):
    """The values are sentences about the job, which follow its name."""

    CHOSEN_BY_POLICY = "the policy divides the GPUs itself, and gives it fewer"
    OTHERS_WAIT = "waiting jobs get free GPUs first"
    TOO_FEW_GPUS = "too few GPUs are free"
    QUEUE_LIMIT = "the limit of its queue does not permit it"
    GUARANTEES = "the free GPUs are guaranteed to other queues"
    SHARED = "jobs share GPUs under this policy"
    NO_ROOM = "no machines with free GPUs have CPUs and memory for it beside the other jobs"
    DRAINED = "it holds GPUs of a machine that takes no jobs"

    @property
    def key(self) -> str:
        """The name in files: "others_wait"."""
        return self.name.lower()


def refusal_named(key: str) -> SizeRefusal:
    """The reason of a name in files. Raises KeyError."""
    return SizeRefusal[key.upper()]
