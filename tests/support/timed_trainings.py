"""A master whose trainings take the time that follows from their size and from their neighbours."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from motet.domain.units import NEVER_US, SECOND_US
from motet.estimate.colocation.group_time import SubtaskTimes, group_iteration_s
from motet.live.jobs.job_file import job_spec
from motet.live.journal.store import JournalStore
from motet.live.launcher.messages import (
    AttemptProgressed,
    AttemptProposed,
    LauncherRequest,
    Report,
    SizeWish,
    StartAttempt,
    SubtaskReport,
)
from motet.live.master.facts import ClusterDeclared
from motet.live.master.intake import ChoosePolicy, Input
from motet.live.master.master import Master
from motet.live.master.requests import Workplace
from motet.live.master.submissions.submission import Submit
from scripted_launcher import ScriptedLauncher
from timed_master import job_of

STARTS_US = SECOND_US // 2
"""How long an attempt takes until its processes run."""


@dataclass(frozen=True)
class TimedTraining:
    """`submit_s`: when; `job`: its file. It has `epochs`, of `epoch_s` seconds each with so many
    workers and servers, or of iterations with `comp_s` on one machine and `comm_s`. `proposals`: by
    epoch, workers, servers and gain."""

    submit_s: float
    job: Mapping[str, Any]
    epochs: int
    epoch_s: Callable[[int, int], float] = lambda workers, servers: 1.0
    comp_s: float = 0.0
    comm_s: float = 0.0
    iterations: int = 5
    proposals: Mapping[int, tuple[int, int, float]] = field(default_factory=dict)

    def subtasks(self, machines: int, *, overlaps: bool) -> SubtaskTimes:
        return SubtaskTimes(self.comp_s / machines, self.comm_s, overlaps=overlaps)


@dataclass
class _Attempt:
    """`since_us`: from when on it works; `done`: epochs of its job until then."""

    request: StartAttempt
    since_us: int
    done: float
    is_told: bool = False

    @property
    def size(self) -> tuple[int, int]:
        env = self.request.ranks[0].env
        return int(env.get("MOTET_WORKERS", 1)), int(env.get("MOTET_SERVERS", 0))

    @property
    def overlaps(self) -> bool:
        return self.request.ranks[0].env.get("MOTET_CONSISTENCY") == "async"

    @property
    def machines(self) -> frozenset[str]:
        return frozenset(task.machine for task in self.request.ranks)


class TrainingProcesses:
    """Attempts of trainings report every epoch, and end with the epoch in which they are told to
    stop. Commands have one epoch and stop at once, with their progress kept."""

    def __init__(self, trainings: Mapping[int, TimedTraining]) -> None:
        self._trainings = trainings
        self._launcher = ScriptedLauncher()
        self._attempts: dict[str, _Attempt] = {}
        self._done: dict[int, float] = dict.fromkeys(trainings, 0.0)
        self._stopped: list[Input] = []

    def next_us(self, now_us: int) -> int:
        """The next start or end of an epoch, or stop of a command."""
        if self._stopped:
            return now_us
        return min(map(self._next_us, self._attempts.values()), default=NEVER_US)

    def happened(self, now_us: int) -> list[Input]:
        """Attempts that run now, and what the ends of epochs bring."""
        found, self._stopped = self._stopped, []
        due = [name for name, each in self._attempts.items() if self._next_us(each) <= now_us]
        self._work_until(now_us)
        for name in sorted(due):
            attempt = self._attempts[name]
            if not attempt.is_told:
                attempt.is_told = True
                found.append(self._launcher.started(name))
            else:
                found += self._epoch_ended(name, attempt)
        return found

    def receive(self, now_us: int, requests: Sequence[LauncherRequest]) -> None:
        self._work_until(now_us)
        for request in requests:
            is_new = request.attempt not in self._launcher.running
            self._launcher.receive([request])
            if isinstance(request, StartAttempt) and is_new:
                done = self._done[job_of(request.attempt)]
                self._attempts[request.attempt] = _Attempt(request, now_us + STARTS_US, done)
        for name in sorted(self._launcher.stopping & self._attempts.keys()):
            if "app" not in self._trainings[job_of(name)].job:
                self._done[job_of(name)] = self._attempts.pop(name).done
                self._stopped.append(self._launcher.ended(name, None, "stopped"))

    def _epoch_ended(self, name: str, attempt: _Attempt) -> Iterable[Report]:
        number, training = job_of(name), self._trainings[job_of(name)]
        attempt.done = epoch = round(attempt.done)
        self._done[number] = epoch
        if "app" in training.job:
            yield self._progress(name, attempt, training, epoch)
        if (proposal := training.proposals.get(epoch)) is not None:
            workers, servers, gain = proposal
            yield AttemptProposed(name, SizeWish(epoch, workers, servers, gain))
        if epoch >= training.epochs:
            del self._attempts[name]
            yield self._launcher.ended(name)
        elif name in self._launcher.stopping:
            del self._attempts[name]
            yield self._launcher.ended(name, 75, "stopped")

    def _progress(
        self, name: str, attempt: _Attempt, training: TimedTraining, epoch: int
    ) -> AttemptProgressed:
        machines = len(attempt.machines)
        comp_s, comm_s = training.subtasks(machines, overlaps=attempt.overlaps)[:2]
        subtasks = SubtaskReport(machines, comp_s, comm_s, overlaps=attempt.overlaps)
        told = subtasks if training.comp_s else None
        speed = SECOND_US / self._epoch_us(attempt)
        return AttemptProgressed(name, float(epoch), ((float(epoch), 1 / epoch),), speed, told)

    def _work_until(self, now_us: int) -> None:
        times_us = {name: self._epoch_us(each) for name, each in self._attempts.items()}
        for name, attempt in self._attempts.items():
            if now_us > attempt.since_us:
                attempt.done += (now_us - attempt.since_us) / times_us[name]
                attempt.since_us = now_us

    def _next_us(self, attempt: _Attempt) -> int:
        if not attempt.is_told:
            return attempt.since_us
        left = int(attempt.done + 1e-9) + 1 - attempt.done
        return attempt.since_us + max(round(left * self._epoch_us(attempt)), 1)

    def _epoch_us(self, attempt: _Attempt) -> float:
        training = self._trainings[job_of(attempt.request.attempt)]
        if not training.comp_s:
            return training.epoch_s(*attempt.size) * SECOND_US
        others = [each for each in self._attempts.values() if each.machines & attempt.machines]
        modes = {job_of(each.request.attempt): each.overlaps for each in others}
        machines = len(attempt.machines)
        times = [
            self._trainings[job].subtasks(machines, overlaps=overlaps)
            for job, overlaps in sorted(modes.items())
        ]
        return training.iterations * group_iteration_s(times) * SECOND_US


def play_trainings(
    address: str,
    cluster: ClusterDeclared,
    policy: ChoosePolicy,
    trainings: Sequence[TimedTraining],
    begin_us: int,
    until_us: int = NEVER_US,
) -> None:
    """Let a master run these jobs, numbered from 1, until nothing is left to do."""
    clock = [begin_us]
    processes = TrainingProcesses(dict(enumerate(trainings, 1)))
    agenda = [
        (begin_us + round(each.submit_s * SECOND_US), Submit(job_spec(dict(each.job)), "ann"))
        for each in trainings
    ]
    with JournalStore(address) as store:
        master = Master(store, cluster, Workplace(Path("/nowhere"), {}), lambda: clock[0])
        master.handle([policy])
        while True:
            next_us = agenda[0][0] if agenda else NEVER_US
            at_us = min(master.recheck_at_us, processes.next_us(clock[0]), next_us)
            has_ended = not agenda and not master.state.active
            if at_us >= until_us or has_ended:
                return
            clock[0] = max(at_us, clock[0])
            given = processes.happened(clock[0])
            while agenda and agenda[0][0] == clock[0]:
                given.append(agenda.pop(0)[1])
            answers, requests = master.handle(given)
            assert [answer.error for answer in answers if answer.error] == []
            processes.receive(clock[0], requests)
