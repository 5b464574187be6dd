"""What a COMM subtask moved, and when."""

from __future__ import annotations

from typing import NamedTuple

from motet.runtime.core.subtask import Subtask, SubtaskKind


class Transfer(NamedTuple):
    """What a COMM subtask moved, and when; messages are made and taken apart outside it.

    `wait_us`: how long a server made it wait for other workers.
    """

    payload_bytes: int = 0
    start_us: int = 0
    end_us: int = 0
    wait_us: int = 0

    def subtask(self, kind: SubtaskKind, clock: int) -> Subtask:
        """The subtask that this was."""
        return Subtask(kind, clock, self.start_us, self.end_us, self.wait_us, self.payload_bytes)
