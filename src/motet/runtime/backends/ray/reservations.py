"""Places for executors: placement groups on the machines of one job."""

from __future__ import annotations

import motet.runtime.backends.ray.environment  # noqa: F401

# isort: split
import threading
import time
from collections.abc import Callable, Sequence

from ray.util.placement_group import (
    PlacementGroup,
    placement_group,
    remove_placement_group,
)
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from motet.domain.errors import JobFailed
from motet.runtime.backends.ray.machine_register import MachineRegister

LOOK_EVERY_S = 1.0
_RESERVE_TIMEOUT_S = 60.0
_NODE_ID = "ray.io/node-id"


def logical_machine(number: int) -> str:
    """The custom resource that stands for a machine of an embedded cluster."""
    return f"motet_machine_{number}"


class Reservation:
    """One placement group; it is removed when the last executor has left."""

    def __init__(self, group: PlacementGroup, machines: Sequence[int]) -> None:
        """All `machines` have an executor from now on."""
        self._group = group
        self._bundles = {number: bundle for bundle, number in enumerate(machines)}
        self._present = set(machines)

    def place_of(self, machine: int) -> PlacementGroupSchedulingStrategy:
        """Where the executor of a machine must run."""
        return PlacementGroupSchedulingStrategy(
            placement_group=self._group, placement_group_bundle_index=self._bundles[machine]
        )

    @property
    def is_held(self) -> bool:
        """Whether an executor is left."""
        return bool(self._present)

    def enter(self, machine: int) -> bool:
        """Take a place again that was left; False when this reservation has none for it."""
        if not self._present or machine not in self._bundles:
            return False
        self._present.add(machine)
        return True

    def leave(self, machine: int) -> None:
        """This executor has ended."""
        self._present.discard(machine)
        if not self._present:
            remove_placement_group(self._group)


class Reservations:
    """The reservations of all jobs of this process."""

    def __init__(self, register: MachineRegister | None) -> None:
        """`register`: of a joined cluster's nodes; None: the machines are logical."""
        self._register = register
        self._by_job: dict[str, list[Reservation]] = {}
        self._lock = threading.Lock()

    def places_for(
        self, job: str, machines: Sequence[int], check: Callable[[], None]
    ) -> dict[int, Reservation]:
        """A place on each machine: one that the job holds already, or a new one.

        Raises JobFailed when there is no room, or what `check` raises meanwhile; all or none.
        """
        with self._lock:
            held = self._by_job.setdefault(job, [])
            held[:] = [each for each in held if each.is_held]
            places = {number: each for number in machines for each in held if each.enter(number)}
            missing = [number for number in machines if number not in places]
            if missing:
                places |= self._more_places(job, missing, places, check)
            return places

    def _more_places(
        self,
        job: str,
        missing: list[int],
        entered: dict[int, Reservation],
        check: Callable[[], None],
    ) -> dict[int, Reservation]:
        try:
            added = Reservation(self._reserve(job, missing, check), missing)
        except BaseException:
            for number, reservation in entered.items():
                reservation.leave(number)
            raise
        self._by_job[job].append(added)
        return dict.fromkeys(missing, added)

    def _reserve(
        self, job: str, machines: Sequence[int], check: Callable[[], None]
    ) -> PlacementGroup:
        """A place on each of the machines, or none; also none when `check` raises."""
        group = self._group(machines)
        deadline_s = time.monotonic() + _RESERVE_TIMEOUT_S
        try:
            while not group.wait(LOOK_EVERY_S):
                check()
                if time.monotonic() > deadline_s:
                    raise JobFailed(
                        f"the cluster could not give {len(machines)} machine(s) to {job} within "
                        f"{_RESERVE_TIMEOUT_S:.0f} s; wait for other jobs or lower --machines"
                    )
        except BaseException:
            remove_placement_group(group)
            raise
        return group

    def _group(self, machines: Sequence[int]) -> PlacementGroup:
        if self._register is None:
            bundles, selector = [{logical_machine(number): 1.0} for number in machines], None
        else:
            bundles = [{"CPU": 1.0} for _ in machines]
            selector = [{_NODE_ID: self._register.identity_of(number)} for number in machines]
        group: PlacementGroup = placement_group(bundles, bundle_label_selector=selector)
        return group
