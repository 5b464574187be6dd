"""A master whose jobs take given times; its clock jumps from event to event."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from motet.domain.units import NEVER_US, seconds
from motet.live.jobs.job_file import job_spec
from motet.live.journal.store import JournalStore
from motet.live.launcher.messages import ClusterSeen, LauncherRequest, Report, StartAttempt
from motet.live.master.facts import ClusterDeclared
from motet.live.master.intake import ChoosePolicy, Input
from motet.live.master.master import Master
from motet.live.master.requests import Workplace
from motet.live.master.submissions.submission import Submit
from scripted_launcher import ScriptedLauncher

TimedRows: TypeAlias = Sequence[tuple[int, int, int]]
"""(submit, duration, slots) of each job, in microseconds, by submission."""


def at_once(processes: int) -> int:
    """A start that takes no time."""
    del processes
    return 0


@dataclass
class TimedProcesses:
    """Processes of attempts that take their time and report at once what they do.

    `start_up_us`: how long an attempt of so many processes takes until they run, `stop_us`: until
    they have stopped. With `finish_us` of work left at most, they finish instead. `since_us`: from
    when on they run, `ending`: when those that stop will end, `finishing` of them with success.
    `unheard_us`: by job, how long after its end the master hears of that. `failing_us`: by job, the
    work that it has left when its attempts fail, in their order. `loss_us`: how long after the loss
    of a machine it is certain that processes on it have ended; `gone`: machines that are lost.
    """

    needed_us: dict[int, int]
    start_up_us: Callable[[int], int] = at_once
    stop_us: Callable[[int], int] = at_once
    finish_us: int = 0
    unheard_us: Mapping[int, int] = field(default_factory=dict)
    failing_us: dict[int, list[int]] = field(default_factory=dict)
    loss_us: int = 0
    gone: set[str] = field(default_factory=set)
    launcher: ScriptedLauncher = field(default_factory=ScriptedLauncher)
    since_us: dict[str, int] = field(default_factory=dict)
    starting: set[str] = field(default_factory=set)
    reports: list[Report] = field(default_factory=list)
    ending: dict[str, int] = field(default_factory=dict)
    finishing: set[str] = field(default_factory=set)

    def next_us(self, now_us: int) -> int:
        starts_us = (self.since_us[attempt] for attempt in self.starting)
        ends_us = [*self._ends().values(), *self.ending.values()]
        next_us = min([*starts_us, *ends_us], default=NEVER_US)
        return now_us if self.reports else next_us

    def happened(self, now_us: int) -> list[Input]:
        """Attempts that run now or are done, then what became of requests."""
        running = sorted(each for each in self.starting if self.since_us[each] <= now_us)
        self.starting -= {*running}
        done = sorted(attempt for attempt, end_us in self._ends().items() if end_us <= now_us)
        for attempt in done:
            del self.since_us[attempt]
        found = [self.launcher.started(attempt) for attempt in running]
        found += [*map(self._done, done), *self.reports]
        stopped = sorted(attempt for attempt, end_us in self.ending.items() if end_us <= now_us)
        for attempt in stopped:
            del self.ending[attempt]
            is_done = attempt in self.finishing
            found.append(
                self.launcher.ended(attempt)
                if is_done
                else self.launcher.ended(attempt, None, "stopped")
            )
        self.reports = []
        return found

    def receive(self, now_us: int, requests: Sequence[LauncherRequest]) -> None:
        for request in requests:
            is_new = request.attempt not in self.launcher.running
            is_stopped = request.attempt in self.launcher.stopping
            self.launcher.receive([request])
            if isinstance(request, StartAttempt) and is_new:
                self.since_us[request.attempt] = now_us + self.start_up_us(len(request.ranks))
                if self.since_us[request.attempt] > now_us:
                    self.starting.add(request.attempt)
                else:
                    self.reports.append(self.launcher.started(request.attempt))
            elif not isinstance(request, StartAttempt) and not is_stopped:
                self.starting.discard(request.attempt)
                ran_us = max(now_us - self.since_us.pop(request.attempt), 0)
                self.needed_us[job_of(request.attempt)] -= ran_us
                left_us = self.needed_us[job_of(request.attempt)]
                ranks = self.launcher.running[request.attempt].ranks
                is_lost = any(rank.machine in self.gone for rank in ranks)
                if left_us <= self.finish_us:
                    self.finishing.add(request.attempt)
                    self.ending[request.attempt] = now_us + left_us
                elif takes_us := self.loss_us if is_lost else self.stop_us(len(ranks)):
                    self.ending[request.attempt] = now_us + takes_us
                else:
                    self.reports.append(self.launcher.ended(request.attempt, None, "stopped"))

    def _done(self, attempt: str) -> Report:
        job = job_of(attempt)
        if left_us := self.failing_us.get(job):
            self.needed_us[job] = left_us.pop(0)
            return self.launcher.ended(attempt, 1)
        if job not in self.unheard_us:
            return self.launcher.ended(attempt)
        return self.launcher.ended(attempt, lasted_s=seconds(self.needed_us[job]))

    def _ends(self) -> dict[str, int]:
        return {
            attempt: since + self._works_us(job) + self.unheard_us.get(job, 0)
            for attempt, since in self.since_us.items()
            if attempt not in self.starting
            for job in (job_of(attempt),)
        }

    def _works_us(self, job: int) -> int:
        """Until the next end of its attempt."""
        return self.needed_us[job] - (self.failing_us.get(job) or [0])[0]


def job_of(attempt: str) -> int:
    return int(attempt.partition(".")[0])


def play(
    store: JournalStore,
    cluster: ClusterDeclared,
    rows: TimedRows,
    policy: ChoosePolicy,
    others: Iterable[tuple[int, Input]] = (),
    until_us: int = NEVER_US,
    declares: bool = False,
    needed_us: Mapping[int, int] | None = None,
    start_up_us: Callable[[int], int] = at_once,
    stop_us: Callable[[int], int] = at_once,
    finish_us: int = 0,
    unheard_us: Mapping[int, int] | None = None,
    failing_us: Mapping[int, Sequence[int]] | None = None,
    loss_us: int = 0,
) -> int:
    """Let a master run jobs until nothing is left to do; returns the number of its first record
    with jobs. `others`: further inputs, by time. `declares`: users know how long their jobs run.
    `needed_us`: run times by job, where `others` submit some, too. `start_up_us`, `stop_us`,
    `finish_us`, `unheard_us`, `failing_us`, `loss_us`: see TimedProcesses."""
    clock = [rows[0][0]]
    needed = needed_us or {number: row[1] for number, row in enumerate(rows, 1)}
    failing = {job: [*left_us] for job, left_us in (failing_us or {}).items()}
    took = start_up_us, stop_us, finish_us, unheard_us or {}, failing, loss_us
    processes = TimedProcesses(dict(needed), *took)
    master = Master(store, cluster, Workplace(Path("/nowhere"), {}), lambda: clock[0])
    master.handle([policy])
    first = store.next_sequence
    inputs: list[tuple[int, Input]] = [
        (
            row[0],
            Submit(spec_of(row[2], row[1] if declares else None, number in failing), "ann"),
        )
        for number, row in enumerate(rows, 1)
    ]
    agenda = sorted([*inputs, *others], key=lambda each: each[0])
    while True:
        next_us = agenda[0][0] if agenda else NEVER_US
        clock[0] = min(master.recheck_at_us, processes.next_us(clock[0]), next_us)
        if clock[0] >= until_us:
            return first
        given = processes.happened(clock[0])
        while agenda and agenda[0][0] == clock[0]:
            given.append(agenda.pop(0)[1])
        for seen in (each for each in given if isinstance(each, ClusterSeen)):
            processes.gone = {*cluster.names} - {each.name for each in seen.machines}
        answers, requests = master.handle(given)
        assert [answer.error for answer in answers if answer.error] == []
        processes.receive(clock[0], requests)


def spec_of(slots: int, duration_us: int | None = None, may_fail: bool = False) -> Any:
    """A command. `may_fail`: it is run again after every failure."""
    declared = {} if duration_us is None else {"duration_s": seconds(duration_us)}
    values = {"name": "job", "run": "true", "workdir": "/", "processes": slots, **declared}
    if may_fail:
        values["retry"] = {"max_attempts": 100}
    return job_spec(values)
