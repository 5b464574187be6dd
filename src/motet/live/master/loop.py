"""The thread of the master: one inbox for users, launcher and timer; one step for all it holds."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from sqlite3 import Error as SqliteError
from typing import Any, Protocol, TypeAlias, TypeVar

from motet.domain.errors import MotetError
from motet.domain.units import NEVER_US
from motet.live.jobs.job import LiveJob
from motet.live.journal.divergence import log_notices
from motet.live.journal.store import JournalLost, JournalStore
from motet.live.journal.unknown_folders import require_known_folders
from motet.live.launcher.messages import LauncherRequest, MachineExamined, Report
from motet.live.master.facts import ClusterDeclared
from motet.live.master.intake import ChoosePolicy, Input
from motet.live.master.launcher_process import LauncherProcess
from motet.live.master.master import Answer, DurableStep, Master
from motet.live.master.requests import Workplace
from motet.live.master.state import LiveState
from motet.live.queues.queue_changes import DefineQueues

T = TypeVar("T")

_LONGEST_WAIT_S = 3600.0
_SHORTEST_LIFE_S = 1.0
_MOST_PER_STEP = 1000


class MasterStopped(MotetError):
    """The master has ended; the request may or may not have been recorded."""


@dataclass(frozen=True, slots=True)
class _Request:
    given: Input
    reply: Future[Any] | None = None


@dataclass(frozen=True, slots=True)
class _Read:
    function: Callable[[LiveState], Any]
    reply: Future[Any]


@dataclass(frozen=True, slots=True)
class _AwaitFinal:
    job: int
    reply: Future[None]


@dataclass(frozen=True, slots=True)
class _LauncherEnded:
    lived_s: float


@dataclass(frozen=True, slots=True)
class _Wake:
    """Makes the thread look at its flags."""


@dataclass(frozen=True, slots=True)
class _Send:
    """For the launcher; without one they are lost."""

    requests: Sequence[LauncherRequest]


_Item: TypeAlias = _Request | _Read | _AwaitFinal | _LauncherEnded | _Wake | _Send


class MasterObserver(Protocol):
    """Is called on the thread of the master; what it is given must not be changed or kept."""

    def began(self, state: LiveState) -> None:
        """The journal has been read."""

    def stepped(
        self, steps: Sequence[DurableStep], jobs: Sequence[LiveJob], state: LiveState
    ) -> None:
        """`jobs`: all that the steps have changed."""

    def launched(self) -> None:
        """A launcher has been started."""


class ProcessesBesideJobs(Protocol):
    """Processes that the launcher runs, and that are no jobs. Thread-safe."""

    def requests(self) -> Sequence[LauncherRequest]:
        """Everything that a new launcher has to do."""
        ...

    def take(self, report: Report) -> bool:
        """Hear what the launcher reports; returns whether it is about one of these processes."""
        ...


class NoProcesses:
    """The default of ProcessesBesideJobs."""

    def requests(self) -> Sequence[LauncherRequest]:
        """See ProcessesBesideJobs."""
        return ()

    def take(self, report: Report) -> bool:
        """See ProcessesBesideJobs."""
        del report
        return False


def _ignore(news: object) -> None:
    del news


class MasterLoop:
    """Runs a master until `close`. `ask` and `read` may be called from any thread."""

    def __init__(
        self,
        address: str,
        cluster: ClusterDeclared,
        policy: ChoosePolicy | None,
        workplace: Workplace,
        launcher: Sequence[str],
        on_failure: Callable[[BaseException], None],
        drain_after: int = 0,
        follow: Callable[[Sequence[LiveJob]], None] = _ignore,
        observers: Sequence[MasterObserver] = (),
        queues: DefineQueues | None = None,
        prepare: Callable[[ChoosePolicy], None] = _ignore,
        beside: ProcessesBesideJobs | None = None,
    ) -> None:
        """`address`: of the journal. `policy`: None is the one in force before, else FIFO.
        `launcher`: its command, see `LauncherProcess`. `queues`: limits at the start.

        `on_failure`: called when the thread ends by an error. `drain_after`: see LiveState.
        `follow`: called on the thread with all jobs at first, and after every step, before it is
        answered, with those that it changed. `prepare`: called on the thread with the first policy,
        before it decides anything. `beside`: other processes of the launcher.
        """
        self._address, self._cluster, self._workplace = address, cluster, workplace
        self._command, self._drain_after = launcher, drain_after
        self._on_failure, self._follow, self._observers = on_failure, follow, observers
        self._queues, self._prepare = queues, prepare
        self._beside = beside or NoProcesses()
        self._inbox: queue.SimpleQueue[_Item] = queue.SimpleQueue()
        self._ready: Future[None] = Future()
        self._is_closing = self._has_ended = False
        self._failure: BaseException | None = None
        self._ending = threading.Lock()
        self._launcher: LauncherProcess | None = None
        self._launch_at_s = 0.0
        self._waiting: list[_AwaitFinal] = []
        self._are_waits_over = False
        self._examined: dict[str, MachineExamined] = {}
        self._thread = threading.Thread(target=self._run, args=(policy,), name="master")

    def start(self) -> None:
        """Open the journal and start the launcher. Raises what opening the journal raises, and
        BadInput for a policy that cannot be put in force."""
        self._thread.start()
        self._ready.result()

    def ask(self, given: Input) -> Future[Any]:
        """The answer to a request, when it is durable; or the error that it met."""
        reply: Future[Any] = Future()
        self._hand_over(_Request(given, reply))
        return reply

    def read(self, function: Callable[[LiveState], T]) -> Future[T]:
        """The result of a function of the state between two steps; it must not change the state."""
        reply: Future[T] = Future()
        self._hand_over(_Read(function, reply))
        return reply

    def send(self, requests: Sequence[LauncherRequest]) -> None:
        """Hand requests about processes beside jobs to the launcher; a new one asks `beside`."""
        self._inbox.put(_Send(requests))

    def until_final(self, job: int) -> Future[None]:
        """Completes when the job has reached a final state, or by `end_waits`; it may be
        cancelled."""
        reply: Future[None] = Future()
        self._hand_over(_AwaitFinal(job, reply))
        return reply

    def end_waits(self) -> None:
        """Complete what waits for the ends of jobs, now and from now on: the server ends."""
        self._are_waits_over = True
        self._inbox.put(_Wake())

    @property
    def examined(self) -> Mapping[str, MachineExamined]:
        """What other machines have told of themselves last, by name; also of those that are gone.
        Not of this machine."""
        return self._examined.copy()

    def close(self) -> None:
        """End the thread; processes of jobs keep running."""
        self._is_closing = True
        self._inbox.put(_Wake())
        self._thread.join()

    def _hand_over(self, item: _Item) -> None:
        """To the thread; after its end nothing would answer."""
        with self._ending:
            if not self._has_ended:
                self._inbox.put(item)
                return
        _refuse([item], self._failure)

    # -- the thread --------------------------------------------------------------------------------

    def _run(self, policy: ChoosePolicy | None) -> None:
        try:
            with JournalStore(self._address) as store:
                self._serve(store, policy)
        except BaseException as error:
            self._failure = error
            if not self._ready.done():
                self._ready.set_exception(error)
            else:
                self._on_failure(error)
        finally:
            self._is_closing = True
            with self._ending:
                self._has_ended = True
            self._refuse_rest()

    def _require_known_folders(self, state: LiveState) -> None:
        attempts = {number: len(job.attempts) for number, job in state.jobs.items()}
        ended = {number for number, job in state.jobs.items() if job.state.is_final}
        require_known_folders(self._workplace.folder, attempts, ended)

    def _serve(self, store: JournalStore, policy: ChoosePolicy | None) -> None:
        master = Master(
            store, self._cluster, self._workplace, _unix_us, self._drain_after, time.perf_counter
        )
        self._require_known_folders(master.state)
        log_notices(store.copy_of_former, master.divergence)
        for each in self._observers:
            each.began(master.state)
        self._prepare(master.policy_at_start(policy))
        master.choose_first(policy, self._queues)
        self._observe(master, master.take_changed())
        self._follow([*master.state.jobs.values()])
        self._launch(master, store.epoch)
        self._ready.set_result(None)
        try:
            while not self._is_closing:
                self._process(master, self._gather(master), store.epoch)
        finally:
            if self._launcher is not None:
                self._launcher.close()

    def _process(self, master: Master, items: Sequence[_Item], epoch: int) -> None:
        """Raises what ends the master; all who asked have been told then."""
        try:
            self._answer_all(master, items, epoch)
        except BaseException as error:
            _refuse(items, error)
            raise

    def _answer_all(self, master: Master, items: Sequence[_Item], epoch: int) -> None:
        asked = [item for item in items if isinstance(item, _Request)]
        replies, requests = master.handle([item.given for item in asked])
        changed = master.take_changed()
        if changed:
            self._follow(changed)
        self._observe(master, changed)
        if self._launcher is not None:
            self._launcher.send(requests)
        for item, reply in zip(asked, replies, strict=True):
            if item.reply is not None:
                _answer(item.reply, reply)
        for each in items:
            self._take(each, master.state)
        is_end = self._are_waits_over
        self._waiting = [each for each in self._waiting if not _is_over(each, master.state, is_end)]
        if self._launcher is None and time.monotonic() >= self._launch_at_s:
            self._launch(master, epoch)

    def _take(self, item: _Item, state: LiveState) -> None:
        """What is no input of the master."""
        match item:
            case _Read():
                _answer_read(item, state)
            case _AwaitFinal():
                self._waiting.append(item)
            case _Send(requests) if self._launcher is not None:
                self._launcher.send(requests)
            case _LauncherEnded(lived_s):
                self._launcher = None
                pause_s = 0.0 if lived_s >= _SHORTEST_LIFE_S else _SHORTEST_LIFE_S
                self._launch_at_s = time.monotonic() + pause_s

    def _observe(self, master: Master, changed: Sequence[LiveJob]) -> None:
        if steps := master.take_steps():
            for each in self._observers:
                each.stepped(steps, changed, master.state)

    def _gather(self, master: Master) -> list[_Item]:
        """Everything that waits now; blocks until there is something, or something is due."""
        wait_s = _LONGEST_WAIT_S
        if master.recheck_at_us < NEVER_US:
            wait_s = min((master.recheck_at_us - _unix_us()) / 1e6, wait_s)
        if self._launcher is None:
            wait_s = min(self._launch_at_s - time.monotonic(), wait_s)
        items: list[_Item] = []
        with suppress(queue.Empty):
            items.append(self._inbox.get(timeout=max(0.0, wait_s)))
            while len(items) < _MOST_PER_STEP:
                items.append(self._inbox.get_nowait())
        return items

    # -- the launcher ------------------------------------------------------------------------------

    def _launch(self, master: Master, epoch: int) -> None:
        """Start a launcher and tell it everything that should run."""
        began_s = time.monotonic()
        self._launcher = LauncherProcess(
            self._command,
            epoch,
            self._reported,
            lambda: self._inbox.put(_LauncherEnded(time.monotonic() - began_s)),
            lambda found: self._examined.update({found.name: found}),
        )
        self._launcher.send([*self._beside.requests(), *master.pending_requests])
        for each in self._observers:
            each.launched()

    def _reported(self, report: Report) -> None:
        if not self._beside.take(report):
            self._inbox.put(_Request(report))

    def _refuse_rest(self) -> None:
        _refuse(self._waiting, self._failure)
        while not self._inbox.empty():
            _refuse([self._inbox.get()], self._failure)


def _refuse(items: Sequence[_Item], error: BaseException | None = None) -> None:
    """Tell all who asked, and have no answer yet, that the master has ended, by this error."""
    is_lost = isinstance(error, JournalLost | OSError | SqliteError)
    why = "the journal cannot be written; jobs run on" if is_lost else "the server is stopping"
    for item in items:
        reply = getattr(item, "reply", None)
        if isinstance(reply, Future) and not reply.done():
            _answer(reply, Answer(error=MasterStopped(f"{why}; ask again later")))


def _answer_read(asked: _Read, state: LiveState) -> None:
    """Errors of the function are its caller's."""
    if not asked.reply.set_running_or_notify_cancel():
        return
    try:
        asked.reply.set_result(asked.function(state))
    except Exception as error:
        asked.reply.set_exception(error)


def _answer(future: Future[Any], reply: Answer) -> None:
    """The answer; who asked may have stopped waiting for it."""
    if not future.set_running_or_notify_cancel():
        return
    if reply.error is not None:
        future.set_exception(reply.error)
    else:
        future.set_result(reply.value)


def _is_over(waiting: _AwaitFinal, state: LiveState, is_end: bool) -> bool:
    """Whether the wait has ended; an unknown job and the end of all waits end it, too."""
    job = state.arrays.get(waiting.job) or state.jobs.get(waiting.job)
    if waiting.reply.cancelled():
        return True
    if is_end or job is None or job.state.is_final:
        if waiting.reply.set_running_or_notify_cancel():
            waiting.reply.set_result(None)
        return True
    return False


def _unix_us() -> int:
    return time.time_ns() // 1000
