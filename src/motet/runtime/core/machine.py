"""A machine of a cluster: its number, its kind, and whether it is there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Condition: TypeAlias = Literal["up", "leaving", "gone"]


@dataclass(frozen=True)
class Machine:
    """One machine of a cluster; its number is not used for another machine.

    `name`: for messages; `kind`: equal for machines of equal speed. `condition`: a "leaving"
    machine will be taken away after `notice_s` seconds (None: unknown), a "gone" one stays gone.
    """

    number: int
    name: str
    kind: str = "machine"
    condition: Condition = "up"
    notice_s: float | None = None
