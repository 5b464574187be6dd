"""The connection to the supervisor of one machine; made again whenever it is lost."""

from __future__ import annotations

import motet.runtime.backends.ray.environment  # noqa: F401

# isort: split
import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import ray
from ray.exceptions import RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from motet.interfaces.ray_launcher.cluster_nodes import SeenNode
from motet.interfaces.ray_launcher.connection import RayConnection
from motet.interfaces.ray_launcher.machine_examination import ClockSample, examined
from motet.interfaces.ray_launcher.supervisor import Opening, Supervisor
from motet.live.launcher.message_lines import message_line
from motet.live.launcher.messages import MachineExamined
from motet.live.launcher.node_messages import (
    NodeRequest,
    RankReport,
    RenewLeases,
    parse_node_message,
)
from motet.live.launcher.rank_group import RENEWALS_PER_LEASE

_CALL_TIMEOUT_S = 30.0
_START_TIMEOUT_S = 120.0
_LONGEST_POLL_S = 5.0
_POLLS_PER_LEASE = 8
_RETRY_S = 1.0
_EXAMINE_EVERY_S = 30.0
_CLOCK_SAMPLES = 5


class _SessionOver(Exception):
    """The supervisor, or the launcher of its machine, has ended."""


@dataclass(frozen=True, slots=True)
class LinkOptions:
    """`epoch`: of the master. `folder`: state of the server. `probe`: see `Opening`."""

    epoch: int
    folder: str
    probe: tuple[str, str]
    lease_s: float


@dataclass(frozen=True, slots=True)
class LinkListener:
    """What happens on a machine. `opened`: all requests must be repeated."""

    opened: Callable[[MachineLink], None]
    reported: Callable[[MachineLink, RankReport], None]
    heard: Callable[[str], None]
    examined: Callable[[MachineExamined], None]


class MachineLink:
    """`is_open`: whether requests arrive. `refusal`: why it was not opened the last time.

    `clock_s`: the latest known time on the machine's own clock.
    """

    def __init__(
        self,
        node: SeenNode,
        options: LinkOptions,
        connection: RayConnection,
        listener: LinkListener,
    ) -> None:
        self.node = node
        self.is_open, self.has_tried, self.refusal = False, False, ""
        self.clock_s = 0.0
        self._options, self._connection, self._listener = options, connection, listener
        self._outbox: asyncio.Queue[str] = asyncio.Queue()

    def send(self, request: NodeRequest) -> None:
        """Hand over a request. Those that are lost are repeated after the next opening."""
        if self.is_open:
            self._outbox.put_nowait(message_line(request))

    async def run(self) -> None:
        """Keep the connection until cancelled. Raises ClusterLost."""
        while True:
            actor: Any = None
            try:
                actor = await self._connection.call(self._supervisor)
                await self._talk(actor)
            except TimeoutError:
                self._closed("its supervisor does not answer")
                await self._kill(actor)
            except (RayError, ValueError, _SessionOver) as error:
                self._closed(str(error).strip().partition("\n")[0])
            await asyncio.sleep(_RETRY_S)

    async def _kill(self, actor: Any) -> None:
        """Make room for another supervisor; launcher and shepherds are left to themselves."""
        if actor is not None:
            with suppress(RayError, ValueError):
                await self._connection.call(lambda: ray.kill(actor))

    def _supervisor(self) -> Any:
        """The actor of this start of the node; a dead one is replaced."""
        options: dict[str, Any] = {
            "num_cpus": 0,
            "max_restarts": 0,
            "max_concurrency": 8,
            "name": f"supervisor-{self.node.identity}",
            "lifetime": "detached",
            "get_if_exists": True,
            "scheduling_strategy": NodeAffinitySchedulingStrategy(self.node.identity, soft=False),
        }
        return ray.remote(**options)(Supervisor).remote()

    async def _talk(self, actor: Any) -> None:
        """Returns when the session is over, or was refused."""
        options, node = self._options, self.node
        opening = Opening(options.epoch, options.folder, options.probe, node.identity, node.address)
        opened = await _answer(actor.open.remote(opening), _START_TIMEOUT_S)
        if opened.refusal:
            self._closed(opened.refusal)
            return
        self._heard(opened.clock_s)
        self._outbox = asyncio.Queue()
        self.is_open, self.has_tried, self.refusal = True, True, ""
        self._listener.opened(self)
        await _first_of(
            self._send(actor, opened.session),
            self._poll(actor, opened.session),
            self._renew(),
            self._examine(actor),
        )

    async def _send(self, actor: Any, session: int) -> None:
        while True:
            lines = [await self._outbox.get()]
            while not self._outbox.empty():
                lines.append(self._outbox.get_nowait())
            if not await _answer(actor.send.remote(session, tuple(lines)), _CALL_TIMEOUT_S):
                raise _SessionOver("the launcher of the machine has ended")

    async def _poll(self, actor: Any, session: int) -> None:
        known, wait_s = 0, min(_LONGEST_POLL_S, self._options.lease_s / _POLLS_PER_LEASE)
        while True:
            asked = actor.poll.remote(session, known, wait_s)
            polled = await _answer(asked, wait_s + _CALL_TIMEOUT_S)
            if polled is None:
                raise _SessionOver("the launcher of the machine has ended")
            self._heard(polled.clock_s)
            for line in polled.reports:
                report: Any = parse_node_message(line)
                self._listener.reported(self, report)
            known = polled.first + len(polled.reports)

    async def _renew(self) -> None:
        while True:
            self.send(RenewLeases(self.clock_s))
            await asyncio.sleep(self._options.lease_s / RENEWALS_PER_LEASE)

    async def _examine(self, actor: Any) -> None:
        """Ask for versions and the clock from time to time; an answer that fails is passed over."""
        while True:
            samples = list[ClockSample]()
            # A supervisor that an earlier version has created does not know the question.
            with suppress(RayError, TimeoutError, AttributeError):
                for _ in range(_CLOCK_SAMPLES):
                    asked_s = time.time()
                    facts = await _answer(actor.examine.remote(), _CALL_TIMEOUT_S)
                    samples.append(ClockSample(asked_s, facts, time.time()))
            if samples:
                self._listener.examined(examined(self.node.name, samples))
            await asyncio.sleep(_EXAMINE_EVERY_S)

    def _heard(self, clock_s: float) -> None:
        self.clock_s = clock_s
        self._listener.heard(self.node.name)

    def _closed(self, refusal: str) -> None:
        self.is_open, self.has_tried, self.refusal = False, True, refusal


async def _answer(reference: Any, timeout_s: float) -> Any:
    """Raises RayError or TimeoutError."""
    return await asyncio.wait_for(asyncio.wrap_future(reference.future()), timeout_s)


async def _first_of(*works: Awaitable[None]) -> None:
    """Run all; when the first has ended, end the others. Raises what it raises."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
