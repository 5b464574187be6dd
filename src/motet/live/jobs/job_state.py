"""The states of jobs. This module imports nothing slow: commands offer the states as choices."""

from __future__ import annotations

from enum import StrEnum


class JobState(StrEnum):
    """States of jobs; the last three are final."""

    PENDING = "PENDING"
    STARTING = "STARTING"
    RUNNING = "RUNNING"
    PREEMPTED = "PREEMPTED"
    SUSPENDED = "SUSPENDED"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"

    @property
    def is_final(self) -> bool:
        """Whether the job never changes again."""
        return self in (JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED)
