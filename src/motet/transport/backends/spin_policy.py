"""When a receiving thread polls before it blocks (spin-then-block). Pure."""

from __future__ import annotations

_MAX_EXPONENT = 8


class SpinPolicy:
    """Spins while spinning succeeds, with exponential back-off.

    After n failures in a row the next 2^n - 1 receives block at once (n <= 8), so slow peers and
    cores that are busy with other work cost next to nothing.
    """

    def __init__(self) -> None:
        self._failures = 0
        self._to_skip = 0

    def should_spin(self) -> bool:
        """Whether to spin this time; report `succeeded` or `failed` afterwards."""
        if not self._to_skip:
            return True
        self._to_skip -= 1
        return False

    def succeeded(self) -> None:
        """Record that bytes arrived while spinning."""
        self._failures = 0

    def failed(self) -> None:
        """Record that none arrived."""
        self._failures = min(self._failures + 1, _MAX_EXPONENT)
        self._to_skip = 2**self._failures - 1
