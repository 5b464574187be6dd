"""Whether stealing has saved a late worker time. Pure.

Estimates miss part of what splitting a mini-batch costs (a host with little CPU also needs it to
answer requests), so the measured times of split and whole mini-batches decide.
"""

from __future__ import annotations

_MEMORY = 0.5
_TRIAL = 3
_FIRST_PAUSE, _LONGEST_PAUSE = 16, 512
_CHANGED = 1.5


class StealingGain:
    """One worker's measurements; every mini-batch adds its time per instance."""

    def __init__(self) -> None:
        self._whole_us = 0.0
        self._split_us = 0.0
        self._split_count = 0
        self._pause = _FIRST_PAUSE
        self._quiet_for = 0
        self._judged_at_us = 0.0

    @property
    def may_split(self) -> bool:
        """Whether mini-batches may be split."""
        return not self._quiet_for and self._whole_us > 0

    def add_whole(self, instance_us: float) -> None:
        """A mini-batch that this worker computed alone."""
        self._whole_us = _mixed(self._whole_us, instance_us)
        self._quiet_for = max(self._quiet_for - 1, 0)
        if self._whole_us > _CHANGED * self._judged_at_us:
            self._quiet_for = 0

    def add_split(self, instance_us: float) -> None:
        """A mini-batch that was split, up to the return of the last instance's state.

        When several in a row took longer than whole ones, splitting pauses, each time for longer.
        It resumes after the pause, or as soon as this worker becomes much slower.
        """
        self._split_us = _mixed(self._split_us, instance_us)
        self._split_count += 1
        if self._split_count < _TRIAL:
            return
        if self._split_us < self._whole_us:
            self._pause = _FIRST_PAUSE
            return
        self._quiet_for, self._pause = self._pause, min(2 * self._pause, _LONGEST_PAUSE)
        self._split_us, self._split_count = 0.0, 0
        self._judged_at_us = self._whole_us


def _mixed(before: float, now: float) -> float:
    return _MEMORY * (before or now) + (1 - _MEMORY) * now
