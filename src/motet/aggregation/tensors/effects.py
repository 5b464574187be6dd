"""What follows from an event at an Aggregator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from motet.aggregation.tensors.joint_steps import JointWork
from motet.aggregation.tensors.tensor_slot import SlotWork

AnyWork: TypeAlias = SlotWork | JointWork


@dataclass
class Effects:
    """`works`: to be computed. `calls`: answer requests. Both without the job's lock."""

    works: list[AnyWork] = field(default_factory=list)
    calls: list[Callable[[], None]] = field(default_factory=list)

    def add(self, more: Effects) -> None:
        """What follows from another event too."""
        self.works += more.works
        self.calls += more.calls
