"""pMaster: takes in what happens, decides, and has it carried out."""

from __future__ import annotations

import contextlib
import logging
import queue
import threading
import time
from collections.abc import Callable
from typing import TypeAlias

from motet.aggregation.master.controller.controller import PoolController
from motet.aggregation.master.service.aggregator_lines import AggregatorLines
from motet.aggregation.master.service.ports import AggregatorLauncher, Connect
from motet.aggregation.master.service.state_file import StateFile
from motet.aggregation.master.service.worker_desk import WorkerDesk
from motet.aggregation.master.state.events import (
    AggregatorDied,
    AggregatorStarted,
    JobsAdmitted,
    PoolEvent,
    Ticked,
    WorkerLost,
)
from motet.aggregation.master.state.instructions import (
    EndJob,
    KillAggregator,
    OpenOn,
    PoolInstruction,
    PublishRoutes,
    StartAggregator,
    StopAggregator,
)
from motet.aggregation.master.state.pool_state import MasterSettings
from motet.aggregation.wire.aggregator_control import JobAccess
from motet.domain.errors import MotetError, Unreachable

_LOG = logging.getLogger(__name__)
TICK_S = 0.25
MEASURED_EVERY_S = 0.5
JOB_MEMORY_BYTES = 1 << 34
"""The quota of a job on one Aggregator."""

MasterCall: TypeAlias = Callable[["PoolMaster"], None]


class PoolMaster:
    """One thread takes in events and calls, in the order of their arrival; a context manager.

    `controller` and `desk` belong to that thread.
    """

    def __init__(
        self,
        settings: MasterSettings,
        launcher: AggregatorLauncher,
        connect: Connect,
        state_file: StateFile,
    ) -> None:
        """Goes on from the state in the file. Raises Unreachable: the launcher has ended."""
        self._launcher, self._state_file = launcher, state_file
        self._inbox: queue.SimpleQueue[PoolEvent | MasterCall | None] = queue.SimpleQueue()
        self._lines = AggregatorLines(connect, self.report, MEASURED_EVERY_S)
        self.desk = WorkerDesk()
        state = state_file.load(settings, time.monotonic())
        self.controller = PoolController(settings, state)
        self._closing = threading.Event()
        self._resume()
        self._thread = threading.Thread(target=self._loop, name="motet-pmaster", daemon=True)
        self._thread.start()
        threading.Thread(target=self._tick, name="motet-pmaster-clock", daemon=True).start()

    def report(self, event: PoolEvent) -> None:
        """Take in an event soon; from any thread."""
        self._inbox.put(event)

    def call(self, function: MasterCall) -> None:
        """Run a function on the thread of the controller soon."""
        self._inbox.put(function)

    def take_in(self, event: PoolEvent) -> None:
        """Handle an event now, on the thread of the controller.

        Raises what the controller does for a worker that cannot join.
        """
        instructions = self.controller.handle(event)
        if instructions or isinstance(event, JobsAdmitted):
            self._state_file.save(self.controller.state)
        for instruction in instructions:
            self._carry_out(instruction)

    def close(self) -> None:
        """End the threads; the Aggregators go on."""
        self._closing.set()
        self._inbox.put(None)
        self._thread.join()
        self._lines.close()

    def __enter__(self) -> PoolMaster:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    # -- threads ---------------------------------------------------------------------------------

    def _resume(self) -> None:
        """Connect to the Aggregators that a pMaster before this one has started."""
        running = self._launcher.running()
        known = self.controller.state.aggregators
        reached = set()
        for number, endpoint in running.items():
            if number not in known:
                self._launcher.stop(number)
            elif known[number].endpoint:
                with contextlib.suppress(MotetError):  # It has just died.
                    self._lines.add(number, endpoint)
                    reached.add(number)
                    self._watch(number)
        instructions = self.controller.resume(reached)
        self._state_file.save(self.controller.state)
        for instruction in instructions:
            self._carry_out(instruction)

    def _loop(self) -> None:
        while True:
            found = self._inbox.get()
            if found is None:
                return
            try:
                if callable(found):
                    found(self)
                else:
                    self.take_in(found)
            except Exception:
                _LOG.exception("pMaster could not handle %s", found)

    def _tick(self) -> None:
        while not self._closing.wait(TICK_S):
            self.report(Ticked(time.monotonic()))
            self.call(_look_for_lost_workers)

    # -- instructions ----------------------------------------------------------------------------

    def _carry_out(self, instruction: PoolInstruction) -> None:
        state = self.controller.state
        match instruction:
            case StartAggregator():
                threading.Thread(
                    target=self._start, args=(instruction.aggregator,), daemon=True
                ).start()
            case StopAggregator():
                self._lines.remove(instruction.aggregator)
                self._launcher.stop(instruction.aggregator)
            case KillAggregator():
                _LOG.warning("Aggregator %d does not answer and is ended", instruction.aggregator)
                self._lines.remove(instruction.aggregator)
                self._launcher.kill(instruction.aggregator)
            case PublishRoutes():
                self.desk.answer(state, state.jobs[instruction.job])
            case EndJob():
                self.desk.end(instruction.job, instruction.error)
            case OpenOn():
                self._lines.carry_out(instruction, self._access(instruction.job))
            case _:
                self._lines.carry_out(instruction, None)

    def _access(self, number: int) -> JobAccess:
        job = self.controller.state.jobs[number]
        return JobAccess(number, job.name, bytes.fromhex(job.secret), JOB_MEMORY_BYTES)

    def _start(self, number: int) -> None:
        try:
            endpoint = self._launcher.start(number)
            self._lines.add(number, endpoint)
            machine = self._launcher.machine_of(number)
        except MotetError as error:
            _LOG.warning("Aggregator %d does not start: %s", number, error)
            self.report(AggregatorDied(number))
            return
        self.report(AggregatorStarted(number, endpoint, machine))
        self._watch(number)

    def _watch(self, number: int) -> None:
        threading.Thread(target=self._await_end, args=(number,), daemon=True).start()

    def _await_end(self, number: int) -> None:
        with contextlib.suppress(Unreachable):  # The launcher has ended, and this process will.
            self._launcher.await_end(number)
            self._lines.remove(number)
            self.report(AggregatorDied(number))


def _look_for_lost_workers(master: PoolMaster) -> None:
    for job, rank in master.desk.lost(time.monotonic()):
        master.desk.forget(job, rank)
        master.take_in(WorkerLost(job, rank))
