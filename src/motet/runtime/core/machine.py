"""A machine of a cluster: its number, what it is, whether it is there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Condition: TypeAlias = Literal["up", "leaving", "gone"]


@dataclass(frozen=True)
class Machine:
    """One machine of a cluster; its number is its own for the cluster's life.

    `name`, `kind`: for people, and to tell unlike machines apart. `condition`: "leaving" is one
    that will be taken away, after `notice_s` seconds (None: nobody said when); "gone" is for good.
    """

    number: int
    name: str
    kind: str = "machine"
    condition: Condition = "up"
    notice_s: float | None = None
