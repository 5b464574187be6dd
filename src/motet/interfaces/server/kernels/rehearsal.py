"""A live cluster without processes that runs through every kind of decision of a policy.

Kernels are compiled at their first call, for the types of their arguments. A master that gets the
inputs of a real one therefore compiles all that the real one calls, and numba keeps it on disk.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from motet.live.jobs.job_file import job_spec
from motet.live.journal.store import JournalStore
from motet.live.launcher.messages import (
    AttemptEnded,
    AttemptProgressed,
    AttemptRunning,
    LauncherRequest,
    RankExit,
    StartAttempt,
    StopAttempt,
)
from motet.live.master.facts import ClusterDeclared
from motet.live.master.intake import ChoosePolicy, Input
from motet.live.master.master import Master
from motet.live.master.requests import Workplace
from motet.live.master.submissions.submission import Submit
from motet.live.queues.queue_changes import CreateQueue

_MEMORY_BYTES = 16 * 10**9
_CLUSTER = ClusterDeclared(
    ("a", "b", "c"), (4, 4, 2), cpus=(8, 8, 4), memory_bytes=(_MEMORY_BYTES,) * 3
)
_BEGIN_US = 1_700_000_000 * 10**6
_ROUND_US = 30 * 10**6
_ROUNDS = 24
_COMMAND = {"name": "command", "workdir": "/", "run": "true", "duration_s": 300}
_TRAINING = {
    "name": "training",
    "workdir": "/",
    "kind": "ps",
    "app": "mlr",
    "data": "digits",
    "epochs": 40,
    "duration_s": 400,
    "workers": {"max": 4},
    "servers": {"max": 2},
}
_JOBS: Sequence[Mapping[str, object]] = (
    {**_COMMAND, "processes": 2},
    _TRAINING,
    {**_COMMAND, "processes": 4, "cpus": 2, "memory": "1GB", "queue": "other"},
    {**_TRAINING, "until": "loss=0.01", "queue": "other", "priority": 1},
    {**_COMMAND, "processes": 8},
    {**_TRAINING, "workers": 3, "servers": 1},
    {**_COMMAND, "processes": 1, "duration_s": 60},
    {**_COMMAND, "processes": 10, "queue": "other"},
)


def rehearse(policy: str, settings: Mapping[str, str], folder: Path) -> None:
    """Run through some rounds of submissions, progress and ends. `folder`: an empty one.

    Raises BadInput, UnknownName, BrokenPolicy.
    """
    now_us = _BEGIN_US
    workplace = Workplace(folder, {})
    with JournalStore(str(folder / "journal.db")) as store:
        master = Master(store, _CLUSTER, workplace, lambda: now_us)
        master.choose_first(ChoosePolicy(policy, settings))
        attempts = _Attempts()
        for number in range(_ROUNDS):
            for given in _inputs(number):
                attempts.receive(_handled(master, [given]))
            now_us += _ROUND_US
            attempts.receive(_handled(master, attempts.reports(number)))
            now_us = max(now_us, min(master.recheck_at_us, now_us + _ROUND_US))


def _inputs(number: int) -> Iterator[Input]:
    """What users ask for in a round."""
    if number == 0:
        yield CreateQueue("other", "")
    if number < len(_JOBS):
        yield Submit(job_spec(_JOBS[number]), "")


def _handled(master: Master, inputs: Sequence[Input]) -> list[LauncherRequest]:
    answers, requests = master.handle(inputs)
    for answer in answers:
        if answer.error is not None:
            raise answer.error
    return requests


class _Attempts:
    """A launcher: everything that is asked for happens in the next round."""

    def __init__(self) -> None:
        self._begun: dict[str, int] = {}
        self._sizes: dict[str, int] = {}
        self._stopping: set[str] = set()

    def receive(self, requests: Sequence[LauncherRequest]) -> None:
        """Requests of the master."""
        for request in requests:
            match request:
                case StartAttempt():
                    self._sizes.setdefault(request.attempt, len(request.ranks))
                case StopAttempt():
                    self._stopping.add(request.attempt)

    def reports(self, number: int) -> list[Input]:
        """Starts, progress and ends in a round; an attempt runs for a third of the rounds."""
        found: list[Input] = []
        for attempt, size in [*self._sizes.items()]:
            begun = self._begun.setdefault(attempt, number)
            epochs = number - begun
            if attempt in self._stopping or epochs > _ROUNDS // 3:
                del self._sizes[attempt]
                found.append(_ended(attempt, size, is_stop=attempt in self._stopping))
            elif epochs:
                points = tuple((each, 1 / (1 + each)) for each in range(1, epochs + 1))
                found.append(AttemptProgressed(attempt, epochs, points, 0.01 * size))
            else:
                found.append(AttemptRunning(attempt, 0.0))
        return found


def _ended(attempt: str, size: int, *, is_stop: bool) -> AttemptEnded:
    end = RankExit(None, 15, "stopped", 0.0, 1.0) if is_stop else RankExit(0, None, "exited", 0, 1)
    return AttemptEnded(attempt, (end,) * size)
