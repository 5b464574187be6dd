"""All attempts of the cluster: requests of the master go to machines, reports come back."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from motet.interfaces.ray_launcher.cluster_nodes import SeenNode, seen_nodes
from motet.interfaces.ray_launcher.connection import RayConnection
from motet.interfaces.ray_launcher.machine_link import LinkListener, LinkOptions, MachineLink
from motet.interfaces.ray_launcher.placed_attempt import PlacedAttempt, PlacedOn
from motet.interfaces.ray_launcher.reservations import GangReservations
from motet.live.launcher.messages import (
    AttemptEnded,
    ClusterSeen,
    LauncherRequest,
    MachineExamined,
    MachineSeen,
    Report,
    StartAttempt,
    StopAttempt,
)
from motet.live.launcher.node_messages import RankReport
from motet.live.slots.devices import devices_text

_LOOK_EVERY_S = 1.0
_FIRST_LOOK_S = 120.0


class RayLauncher:
    """Runs in an event loop from the connection to Ray until that is lost."""

    def __init__(
        self,
        connection: RayConnection,
        options: LinkOptions,
        report: Callable[[Report], None],
        tell: Callable[[MachineExamined], None],
        note: Callable[[str], None],
    ) -> None:
        """`tell`: told what is not recorded. `note`: told the administrator."""
        self._connection, self._options, self._report = connection, options, report
        self._tell, self._note = tell, note
        self._began_s = time.monotonic()
        self._heard: dict[str, float] = {}
        self._links: dict[str, MachineLink] = {}
        self._link_tasks: dict[str, asyncio.Task[None]] = {}
        self._attempts: dict[str, PlacedAttempt] = {}
        self._bereft: set[str] = set()
        self._waiting: list[LauncherRequest] | None = []
        self._told: ClusterSeen | None = None
        self._noted: dict[str, str] = {}
        self._works: set[asyncio.Task[None]] = set()
        self._reservations = GangReservations(connection)
        self._failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._cluster = PlacedOn(
            self._links, lambda name: self._heard.get(name, self._began_s), self._reservations
        )

    async def run(self) -> None:
        """Raises ClusterLost when the cluster can no longer be reached."""
        self._begin(self._watch())
        await self._failed

    def received(self, request: LauncherRequest) -> None:
        """A request of the master; before the machines are known it waits."""
        if self._waiting is not None:
            self._waiting.append(request)
            return
        attempt = self._attempts.get(request.attempt)
        match request:
            case StartAttempt() if attempt is None:
                attempt = PlacedAttempt(request, self._cluster, self._attempt_reported)
                self._attempts[request.attempt] = attempt
                self._begin(attempt.begin())
            case StartAttempt() if attempt is not None:
                for link in self._links.values():
                    attempt.hold_on(link)
                attempt.gang.repeat_reports()
            case StopAttempt() if attempt is not None:
                attempt.stop(request)

    # -- the cluster -------------------------------------------------------------------------------

    async def _watch(self) -> None:
        while True:
            self._follow(await self._connection.call(seen_nodes))
            self._note_refusals()
            if self._waiting is None or self._has_settled():
                self._tell_cluster()
                self._release_waiting()
            for attempt in list(self._attempts.values()):
                attempt.look()
            await asyncio.sleep(_LOOK_EVERY_S)

    def _follow(self, nodes: Mapping[str, SeenNode]) -> None:
        """Connect to new machines, and give up those that have left."""
        for name, link in list(self._links.items()):
            found = nodes.get(name)
            if found is None or found.identity != link.node.identity:
                self._link_tasks.pop(name).cancel()
                del self._links[name]
            else:
                link.node = found
        for name in {each for placed in self._attempts.values() for each in placed.machines}:
            if name not in nodes:
                self._lost(name)
        for name, node in nodes.items():
            if name not in self._links:
                listener = LinkListener(
                    self._opened, self._rank_reported, self._heard_of, self._tell
                )
                link = MachineLink(node, self._options, self._connection, listener)
                self._links[name] = link
                self._link_tasks[name] = self._begin(link.run())

    def _lost(self, name: str) -> None:
        for attempt, placed in self._attempts.items():
            if placed.uses(name) and attempt not in self._bereft:
                self._bereft.add(attempt)
                placed.lost(name)
                self._begin(self._reservations.release(attempt))

    def _has_settled(self) -> bool:
        """Whether every machine has answered, or has had the time to."""
        is_late = time.monotonic() > self._began_s + _FIRST_LOOK_S
        return is_late or all(link.has_tried for link in self._links.values())

    def _tell_cluster(self) -> None:
        seen = ClusterSeen(
            tuple(
                MachineSeen(
                    name,
                    link.node.slots,
                    link.node.takes_jobs and link.is_open,
                    devices_text(link.node.devices),
                    link.node.cpus,
                    link.node.memory_bytes,
                    has_notice=not link.node.takes_jobs,
                )
                for name, link in sorted(self._links.items())
            )
        )
        if seen != self._told:
            self._told = seen
            self._report(seen)

    def _note_refusals(self) -> None:
        for name, link in self._links.items():
            if link.refusal and self._noted.get(name) != link.refusal:
                self._note(f"machine {name}: {link.refusal}")
                self._tell(MachineExamined(name, time.time(), link.refusal))
            self._noted[name] = link.refusal

    def _release_waiting(self) -> None:
        waiting, self._waiting = self._waiting or [], None
        for request in waiting:
            self.received(request)

    # -- machines and attempts ---------------------------------------------------------------------

    def _opened(self, link: MachineLink) -> None:
        for attempt in self._attempts.values():
            attempt.hold_on(link)

    def _heard_of(self, name: str) -> None:
        self._heard[name] = time.monotonic()

    def _rank_reported(self, link: MachineLink, report: RankReport) -> None:
        if link is self._links.get(link.node.name) and report.attempt in self._attempts:
            self._attempts[report.attempt].take(report)

    def _attempt_reported(self, report: Report) -> None:
        if isinstance(report, AttemptEnded):
            self._begin(self._end(report))
        else:
            self._report(report)

    async def _end(self, report: AttemptEnded) -> None:
        """Resources are free before the master knows: nothing is left of an attempt that it knows
        to be over."""
        await self._reservations.release(report.attempt)
        self._attempts.pop(report.attempt, None)
        self._bereft.discard(report.attempt)
        self._report(report)

    def _begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run beside; an error ends the launcher."""
        task = asyncio.get_running_loop().create_task(work)
        self._works.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._works.discard(task)
        if not task.cancelled() and (error := task.exception()) and not self._failed.done():
            self._failed.set_exception(error)
