"""Resources of the Ray cluster for gangs: one placement group per attempt, all of it or nothing.

A group is pinned to the nodes that the engine has chosen, and outlives this process. It is removed
as soon as one of its nodes is lost: Ray moves the parts of a group one by one, so that two groups
could wait for each other (ray#65147).
"""

from __future__ import annotations

import motet.runtime.backends.ray.environment  # noqa: F401

# isort: split
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from ray.util.placement_group import (
    PlacementGroup,
    get_placement_group,
    placement_group,
    remove_placement_group,
)

from motet.domain.errors import MotetError
from motet.interfaces.ray_launcher.connection import RayConnection

Bundle: TypeAlias = Mapping[str, float]
"""Resources on one node, by Ray's names: {"CPU": 2.0}."""

_NODE_ID = "ray.io/node-id"
_LOOK_EVERY_S = 0.5
_TIMEOUT_S = 30.0


class NoReservation(MotetError):
    """Ray did not give the resources, or they are not needed any more."""


class GangReservations:
    """Placement groups by attempt."""

    def __init__(self, connection: RayConnection) -> None:
        self._connection = connection

    async def reserve(
        self, attempt: str, bundles: Mapping[str, Bundle], is_needed: Callable[[], bool]
    ) -> None:
        """`bundles`: of resources, by the identity of the node. Raises NoReservation."""
        group = await self._connection.call(lambda: _group(attempt, bundles))
        deadline_s = time.monotonic() + _TIMEOUT_S
        while not await self._connection.call(lambda: group.wait(_LOOK_EVERY_S)):
            if is_needed() and time.monotonic() < deadline_s:
                continue
            await self.release(attempt)
            raise NoReservation(
                f"Ray did not give {_told(bundles.values())} on {len(bundles)} machines within "
                f"{_TIMEOUT_S:.0f} s: other programs use the cluster"
            )

    async def release(self, attempt: str) -> None:
        """Give the resources back; a second call does nothing."""
        await self._connection.call(lambda: _remove(attempt))


def _name(attempt: str) -> str:
    return f"attempt-{attempt}"


def _told(bundles: Iterable[Bundle]) -> str:
    """`8 CPUs`."""
    total = sum((Counter(bundle) for bundle in bundles), Counter[str]())
    return " and ".join(f"{count:.0f} {resource}s" for resource, count in total.items())


def _group(attempt: str, bundles: Mapping[str, Bundle]) -> PlacementGroup:
    found = _find(attempt)
    if found is not None:
        return found
    group: PlacementGroup = placement_group(
        [dict(bundle) for bundle in bundles.values()],
        name=_name(attempt),
        lifetime="detached",
        bundle_label_selector=[{_NODE_ID: node} for node in bundles],
    )
    return group


def _find(attempt: str) -> PlacementGroup | None:
    try:
        group: PlacementGroup = get_placement_group(_name(attempt))
    except ValueError:
        return None
    return group


def _remove(attempt: str) -> None:
    group = _find(attempt)
    if group is not None:
        remove_placement_group(group)
