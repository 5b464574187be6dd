"""How long a reader looks again and again before it sleeps. Pure."""

from __future__ import annotations

SPIN_S = 50e-6
_MAX_EXPONENT = 8


class Patience:
    """Spends time on looking only while looking finds something.

    After n failures in a row the next 2^n - 1 waits sleep at once (n <= 8), so peers that need
    long, or cores that are busy with other work, cost next to nothing.
    """

    def __init__(self, spin_s: float = SPIN_S) -> None:
        self._spin_s = spin_s
        self._failures = 0
        self._to_skip = 0

    def next_spin_s(self) -> float:
        """How long to look this time."""
        if self._to_skip:
            self._to_skip -= 1
            return 0.0
        return self._spin_s

    def found(self) -> None:
        """Looking paid."""
        self._failures = 0

    def gave_up(self) -> None:
        """Looking found nothing."""
        self._failures = min(self._failures + 1, _MAX_EXPONENT)
        self._to_skip = 2**self._failures - 1
