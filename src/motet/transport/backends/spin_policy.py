"""Whether a reader looks again and again for a while before it sleeps. Pure."""

from __future__ import annotations

_MAX_EXPONENT = 8


class Patience:
    """Looking is worthwhile while it finds something.

    After n failures in a row the next 2^n - 1 waits sleep at once (n <= 8), so peers that need
    long, or cores that are busy with other work, cost next to nothing.
    """

    def __init__(self) -> None:
        self._failures = 0
        self._to_skip = 0

    def is_worthwhile(self) -> bool:
        """Whether to look this time; then say `found` or `gave_up`."""
        if not self._to_skip:
            return True
        self._to_skip -= 1
        return False

    def found(self) -> None:
        """Looking paid."""
        self._failures = 0

    def gave_up(self) -> None:
        """Looking found nothing."""
        self._failures = min(self._failures + 1, _MAX_EXPONENT)
        self._to_skip = 2**self._failures - 1
