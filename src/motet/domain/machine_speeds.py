"""What was measured of machines by the jobs that trained on them."""

from __future__ import annotations

from dataclasses import dataclass

from motet.domain.arrays import Floats, Ints


@dataclass(frozen=True, eq=False, slots=True)
class MachineSpeeds:
    """A row per machine, `(machines,)`.

    `times_as_long`: how many times as long workers there computed, when they were measured last, as
    workers of their job do on such machines (1.0 where nobody has trained yet). `measured_us`: when
    that was, UNKNOWN: never. What happened to a machine on which nobody trains, nobody knows.
    """

    times_as_long: Floats
    measured_us: Ints
