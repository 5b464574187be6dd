"""Submissions that may follow: drawn from the latest ones. Pure.

Under most policies jobs that are submitted later may go ahead of one that waits now. Nobody knows
them, but the latest submissions are a sample of what comes, and at which distances. How long it
goes on follows from for how long it has gone on (Gott, Nature 363, 1993): if now is any moment of
a period of submissions that began `age` ago, the period lasts for another T or longer with
probability age / (age + T). A pause counts, too: of the gaps between submissions only those are
possible that are longer than the present one; with n of them, that no further submission belongs
to this period has probability 1 / (n + 1), as each of the n + 1 intervals has.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from motet.domain.arrays import Ints
from motet.domain.units import NEVER_US
from motet.live.jobs.job import LiveJob
from motet.live.master.state import LiveState

LATEST = 50
"""Submissions that are a sample of what comes."""
MOST_DRAWN = 100
"""More of them in a future hardly change the start of a job that waits now, and take long."""


@dataclass(frozen=True, slots=True)
class DrawnSubmission:
    """A job like `like`, submitted at `at_us`."""

    at_us: int
    like: LiveJob


@dataclass(frozen=True, eq=False)
class LatestSubmissions:
    """`jobs`: by time. `gaps_us`: between each and the next one. `quiet_us`: since the last one."""

    jobs: tuple[LiveJob, ...]
    gaps_us: Ints
    quiet_us: int

    @classmethod
    def of(cls, state: LiveState, now_us: int) -> LatestSubmissions:
        """Until now."""
        jobs = sorted(state.jobs.values(), key=lambda job: (job.submitted_us, job.number))[-LATEST:]
        times_us = np.array([job.submitted_us for job in jobs], np.int64)
        quiet_us = now_us - int(times_us[-1]) if jobs else NEVER_US
        return cls(tuple(jobs), np.diff(times_us), max(quiet_us, 0))

    def drawn(self, now_us: int, generator: Generator) -> list[DrawnSubmission]:
        """Those of one future, by time; MOST_DRAWN at most."""
        longer_us = self.gaps_us[self.gaps_us > self.quiet_us]
        place = int(generator.integers(len(longer_us) + 1))
        if place == len(longer_us):
            return []
        age_us = int(self.gaps_us.sum()) + self.quiet_us
        share_left = 1.0 - generator.random()  # Above 0.
        until_us = now_us + round(min(age_us * (1 / share_left - 1), float(NEVER_US // 2)))
        at_us = now_us - self.quiet_us + int(longer_us[place])
        found: list[DrawnSubmission] = []
        while at_us <= until_us and len(found) < MOST_DRAWN:
            found.append(DrawnSubmission(at_us, self.jobs[generator.integers(len(self.jobs))]))
            at_us += int(generator.choice(self.gaps_us))
        return found
