"""What a machine runs, and how far its clock is from that of the server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from motet.interfaces.ray_launcher.supervisor import MachineFacts
from motet.live.launcher.messages import MachineExamined


@dataclass(frozen=True, slots=True)
class ClockSample:
    """One answer of a machine. `asked_s`, `answered_s`: Unix times of the server."""

    asked_s: float
    facts: MachineFacts
    answered_s: float

    @property
    def error_s(self) -> float:
        """The machine has read its clock within this time of the middle."""
        return (self.answered_s - self.asked_s) / 2

    @property
    def offset_s(self) -> float:
        """The machine's clock less that of the server."""
        return self.facts.unix_s - (self.asked_s + self.answered_s) / 2


def examined(name: str, samples: Sequence[ClockSample]) -> MachineExamined:
    """By the quickest answer, as NTP does (RFC 5905, section 10). `samples`: at least one."""
    best = min(samples, key=lambda sample: sample.error_s)
    found = best.facts.versions
    return MachineExamined(
        name,
        best.answered_s,
        version=found.motet,
        python=found.python,
        ray=found.ray,
        clock_offset_s=best.offset_s,
        clock_error_s=best.error_s,
    )
