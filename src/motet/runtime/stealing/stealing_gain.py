"""Whether being helped has been worth it for a late worker. Pure.

Estimates can miss what dividing a mini-batch costs (a host with hardly any CPU needs it for
answering, too), so what counts is how long mini-batches took with and without help.
"""

from __future__ import annotations

_MEMORY = 0.5
_TRIAL = 3
_FIRST_PAUSE, _LONGEST_PAUSE = 16, 512
_CHANGED = 1.5


class Benefit:
    """One worker's; told of every mini-batch what it took per instance."""

    def __init__(self) -> None:
        self._alone_us = 0.0
        self._helped_us = 0.0
        self._helped_count = 0
        self._pause = _FIRST_PAUSE
        self._quiet_for = 0
        self._judged_at_us = 0.0

    @property
    def may_divide(self) -> bool:
        """Whether help is to be accepted."""
        return not self._quiet_for and self._alone_us > 0

    def alone(self, instance_us: float) -> None:
        """A mini-batch that this worker computed alone."""
        self._alone_us = _mixed(self._alone_us, instance_us)
        self._quiet_for = max(self._quiet_for - 1, 0)
        if self._alone_us > _CHANGED * self._judged_at_us:
            self._quiet_for = 0

    def helped(self, instance_us: float) -> None:
        """A mini-batch with help, up to the return of the last instance's state.

        When some of them in a row took longer than those before alone, there is a pause, ever
        longer; then it is tried again, or as soon as this worker becomes much slower.
        """
        self._helped_us = _mixed(self._helped_us, instance_us)
        self._helped_count += 1
        if self._helped_count < _TRIAL:
            return
        if self._helped_us < self._alone_us:
            self._pause = _FIRST_PAUSE
            return
        self._quiet_for, self._pause = self._pause, min(2 * self._pause, _LONGEST_PAUSE)
        self._helped_us, self._helped_count = 0.0, 0
        self._judged_at_us = self._alone_us


def _mixed(before: float, now: float) -> float:
    return _MEMORY * (before or now) + (1 - _MEMORY) * now
