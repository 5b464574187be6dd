"""Jobs that may have ended while no master ran."""

from __future__ import annotations

from collections.abc import Iterable

from motet.domain.units import NEVER_US, SECOND_US
from motet.live.launcher.messages import AttemptEnded, AttemptRunning

_SETTLES_US = 2 * SECOND_US
"""The end of an attempt is reported after its start, perhaps in a later message."""


class UnheardJobs:
    """Jobs with processes, of which the launcher has reported nothing since the master started, or
    has reported a start late.

    Their limits and trials wait: the time of such a job has passed, but the job may have ended
    before.
    """

    def __init__(self, active: Iterable[int]) -> None:
        self._until_us = dict.fromkeys(active, NEVER_US)

    def hear(self, report: object, now_us: int) -> None:
        """Of a report about the processes of a job."""
        match report:
            case AttemptRunning(attempt, at_s):
                job, is_late = _job_of(attempt), now_us - at_s * SECOND_US > _SETTLES_US
                if is_late or self._until_us.get(job) == NEVER_US:
                    self._until_us[job] = now_us + _SETTLES_US
            case AttemptEnded(attempt):
                self._until_us.pop(_job_of(attempt), None)

    def not_before_us(self, job: int) -> int:
        """From when on it is known whether the job has ended."""
        return self._until_us.get(job, 0)


def _job_of(attempt: str) -> int:
    return int(attempt.partition(".")[0])
