"""Pauses after failed changes: every failure in a row doubles the pause. Pure."""

from __future__ import annotations

import math

_FIRST_PAUSE_S = 10.0
_LONGEST_PAUSE_S = 60.0


class FailureBackoff:
    """Whether a change may be tried again."""

    def __init__(
        self, first_pause_s: float = _FIRST_PAUSE_S, longest_pause_s: float = _LONGEST_PAUSE_S
    ) -> None:
        self._first_pause_s = first_pause_s
        self._longest_pause_s = longest_pause_s
        self._failures = 0
        self._paused_until_s = -math.inf

    def failed(self, now_s: float) -> None:
        """A change failed."""
        pause_s = min(self._first_pause_s * 2.0**self._failures, self._longest_pause_s)
        self._failures += 1
        self._paused_until_s = now_s + pause_s

    def succeeded(self) -> None:
        """A change ended without an error: the next failure is the first one again."""
        self._failures = 0

    def is_paused(self, now_s: float) -> bool:
        """Whether the pause after the last failure goes on."""
        return now_s < self._paused_until_s
