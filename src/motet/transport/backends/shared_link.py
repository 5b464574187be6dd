"""What the processes of a machine know of each other's use of its link: one page of memory."""

from __future__ import annotations

import mmap
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from motet.transport.lanes import NO_LANE

CLAIM_S = 0.03
"""A sender of primary bytes claims the link for so long, in case that it is killed or stopped."""
RENEW_S = 0.003
"""A sender of primary bytes that the kernel does not take yet claims the link again so often."""


class SharedLink:
    """The outgoing link of one machine; every process has an object of its own.

    Writers take no lock: a claim that a release overwrites is renewed within RENEW_S.
    """

    def __init__(self, path: Path) -> None:
        """`path`: a file that all processes of the machine name. Raises OSError."""
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.ftruncate(descriptor, mmap.PAGESIZE)
            self._until_ns = memoryview(mmap.mmap(descriptor, mmap.PAGESIZE)).cast("Q")
        finally:
            os.close(descriptor)

    def claim(self) -> None:
        """Primary bytes are sent now."""
        self._until_ns[0] = time.monotonic_ns() + round(CLAIM_S * 1e9)

    def release(self, tail_s: float) -> None:
        """The kernel has the last primary bytes and needs so long to send them."""
        self._until_ns[0] = time.monotonic_ns() + round(tail_s * 1e9)

    @property
    def is_claimed(self) -> bool:
        """Whether primary bytes are on their way."""
        return 0 < self._until_ns[0] - time.monotonic_ns() <= CLAIM_S * 1e9


@dataclass(frozen=True)
class LinkUse:
    """A machine's link, and how to find the lane of what the calling thread sends."""

    link: SharedLink
    lane: Callable[[], int] = lambda: NO_LANE
