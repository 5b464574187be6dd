"""What a scheduling policy is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Protocol

from motet.domain.decision import Decision
from motet.domain.snapshot import Snapshot


class Policy(Protocol):
    """A pure function from a snapshot to the allocation that should hold now.

    A frozen dataclass whose fields are its parameters. It performs no I/O, has no clock and does
    not know whether it drives a simulator or real machines. `memory_columns`: what it remembers of
    each job from decision to decision, with the value of a new job; by `level`, the number of its
    queue, from 0, the decision log knows of promotions and demotions. An oracle says
    `knows_durations: ClassVar[bool] = True`; the others find `remaining_us` UNKNOWN when simulated.
    One that wants `snapshot.estimates` says `wants_estimates: ClassVar[bool] = True`;
    one that wants to know of slow machines, `wants_machine_speeds`.
    """

    memory_columns: ClassVar[Mapping[str, int]]

    def decide(self, snapshot: Snapshot) -> Decision:
        """The whole allocation from now on."""
        ...
