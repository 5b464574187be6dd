"""One attempt on machines of the cluster: reserved, started or adopted, followed to its end."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from motet.interfaces.ray_launcher.machine_link import MachineLink
from motet.interfaces.ray_launcher.reservations import GangReservations, NoReservation
from motet.live.launcher.attempt import GangAttempt
from motet.live.launcher.messages import RankExit, Report, StartAttempt, StopAttempt
from motet.live.launcher.node_messages import HoldRanks, RankElsewhere, RankReport
from motet.live.launcher.rank_files import RankFiles
from motet.live.launcher.rank_group import never_started

_MARGIN_S, _CLOCK_DRIFT = 2.0, 0.02


@dataclass(frozen=True, slots=True)
class PlacedOn:
    """The cluster of an attempt. `links`: by the names of present machines.

    `heard_s`: when a machine was last heard of, by name.
    """

    links: Mapping[str, MachineLink]
    heard_s: Callable[[str], float]
    reservations: GangReservations


class PlacedAttempt:
    """Tells machines what the gang's ranks should do, and declares those dead that must be.

    `is_given_up`: whether it is to end.
    """

    def __init__(
        self, request: StartAttempt, cluster: PlacedOn, report: Callable[[Report], None]
    ) -> None:
        self.gang = GangAttempt(request, report, self._instruct)
        self._request, self._cluster = request, cluster
        self._files = [RankFiles.of(request, rank) for rank in range(len(request.ranks))]
        self._ranks: dict[str, list[int]] = {}
        for rank, task in enumerate(request.ranks):
            self._ranks.setdefault(task.machine, []).append(rank)
        self._dead_s: dict[int, float] = {}
        self._stop: StopAttempt | None = None
        self.is_given_up = self._is_placed = False

    async def begin(self) -> None:
        """Reserve the resources and start the gang; one that was begun before is adopted."""
        if not any(files.identity() for files in self._files):
            try:
                await self._reserve()
            except NoReservation as error:
                self._never_start(str(error))
                return
            if self.is_given_up:
                self._never_start("stopped before it was started")
                return
        self._is_placed = True
        if self.is_given_up:
            self.gang.stop(self._stop)
        for name in self._ranks:
            if name in self._cluster.links:
                self.hold_on(self._cluster.links[name])
            else:
                self.lost(name)

    def stop(self, request: StopAttempt) -> None:
        """Stop all processes."""
        self.is_given_up, self._stop = True, request
        if self._is_placed:
            self.gang.stop(request)

    def hold_on(self, link: MachineLink) -> None:
        """Repeat all requests to a machine."""
        own = [rank for rank in self._ranks.get(link.node.name, ()) if rank in self.gang.open_ranks]
        if self._is_placed and own:
            link.send(HoldRanks(self._request, tuple(own), link.clock_s))
            link.send(self.gang.instruction(link.clock_s))

    def take(self, report: RankReport) -> None:
        """A machine reports."""
        if isinstance(report, RankElsewhere):
            self._dead_s.setdefault(report.rank, time.monotonic() + self._longest_life_s)
        else:
            self._dead_s.pop(report.rank, None)
        self.gang.take(report)

    @property
    def machines(self) -> Collection[str]:
        """Names of the machines of all ranks."""
        return self._ranks

    def uses(self, machine: str) -> bool:
        """Whether a rank that has not ended is on the machine."""
        return any(rank in self.gang.open_ranks for rank in self._ranks.get(machine, ()))

    def lost(self, machine: str) -> None:
        """A machine has left: the gang ends, and is over when all of it is certainly dead."""
        if not self.uses(machine):
            return
        self.is_given_up = True
        if self._is_placed:
            self.gang.stop()

    def look(self) -> None:
        """Find the ends of processes whose machines cannot be asked."""
        if not self._is_placed:
            return
        now_s = time.monotonic()
        for name, ranks in self._ranks.items():
            link = self._cluster.links.get(name)
            dead_s = self._cluster.heard_s(name) + self._longest_life_s
            for rank in set(ranks) & set(self.gang.open_ranks):
                if rank in self._dead_s:
                    self._look_at(rank, now_s > self._dead_s[rank])
                elif link is None or not link.is_open:
                    self._look_at(rank, now_s > dead_s)

    def _look_at(self, rank: int, is_dead: bool) -> None:
        files = self._files[rank]
        end = files.exit()
        if end is None and is_dead:
            end = RankExit(None, None, "lost", files.started_s(), time.time())
        if end is not None:
            self.gang.end_rank(rank, end)

    @property
    def _longest_life_s(self) -> float:
        """How long a process can live after its machine was last heard of."""
        request = self._request
        return request.lease_s * (1 + _CLOCK_DRIFT) + request.grace_s + _MARGIN_S

    async def _reserve(self) -> None:
        """Raises NoReservation."""
        links = self._cluster.links
        absent = [name for name in self._ranks if name not in links]
        if absent:
            raise NoReservation(f"{', '.join(absent)} has left the cluster")
        if not self._request.takes_slots:
            return
        nodes = {name: links[name].node for name in self._ranks}
        bundles = {
            nodes[name].identity: {nodes[name].resource: float(len(ranks))}
            for name, ranks in self._ranks.items()
        }
        attempt = self._request.attempt
        await self._cluster.reservations.reserve(attempt, bundles, lambda: not self.is_given_up)

    def _instruct(self) -> None:
        for name in self._ranks:
            if self._is_placed and (link := self._cluster.links.get(name)) is not None:
                link.send(self.gang.instruction(link.clock_s))

    def _never_start(self, reason: str) -> None:
        self._files[0].log(f"motet: the processes were not started: {reason}")
        for rank in self.gang.open_ranks:
            self.gang.end_rank(rank, never_started())
