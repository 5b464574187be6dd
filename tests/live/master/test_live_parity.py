"""The master and a driver that only has the engine's ports take the same actions."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from example_count import examples
from fake_driver import drive
from motet.domain.actions import Action
from motet.domain.events import Event
from motet.domain.units import NEVER_US, SECOND_US
from motet.engine.policy_loading.catalogue import find_policy, make_policy
from motet.live.jobs.job_file import job_spec
from motet.live.journal.store import JournalStore
from motet.live.launcher.messages import LauncherRequest, Report, StartAttempt
from motet.live.master.facts import ClusterDeclared
from motet.live.master.intake import ChoosePolicy, Input, Submit
from motet.live.master.master import Master
from motet.live.master.requests import Workplace
from motet.placement.planners import CountPlanner
from scripted_launcher import ScriptedLauncher

CLUSTER = ClusterDeclared(("m0", "m1"), (4, 2))
POLICIES: dict[str, tuple[str, dict[str, str]]] = {
    "fifo": ("fifo", {}),
    "best-effort": ("best-effort", {}),
    "tiresias-las": ("tiresias-las", {"thresholds": "4,20"}),
    "gandiva": ("gandiva", {"packing": "false", "quantum_s": "4"}),
    "drf": ("drf", {}),
    "fair": ("fair", {}),
    "yarn-cs": ("yarn-cs", {}),
}
Rows: TypeAlias = Sequence[tuple[int, int, int]]
"""(submit, duration, GPUs) of each job, in microseconds."""
Taken: TypeAlias = list[tuple[int, list[Any]]]
"""Times of steps, and the actions of each."""
jobs = st.tuples(st.integers(0, 20), st.integers(1, 30), st.integers(1, 6))


@dataclass
class Actions:
    """A journal of the fake driver, whose jobs count from 0; those of the master count from 1."""

    taken: Taken = field(default_factory=list)

    def received(self, now_us: int, events: Sequence[Event]) -> None:
        """See Journal."""

    def decided(
        self, now_us: int, snapshot: object, decision: object, actions: Sequence[Action]
    ) -> None:
        """See Journal."""
        del snapshot, decision
        shifted = [[type(action).__name__, action.job + 1, *action[1:]] for action in actions]
        self.taken.append((now_us, json.loads(json.dumps(shifted))))


@dataclass
class Processes:
    """Processes of attempts that take their time and report at once what they do."""

    needed_us: dict[int, int]
    launcher: ScriptedLauncher = field(default_factory=ScriptedLauncher)
    since_us: dict[str, int] = field(default_factory=dict)
    reports: list[Report] = field(default_factory=list)

    def next_us(self, now_us: int) -> int:
        return now_us if self.reports else min(self._ends().values(), default=NEVER_US)

    def happened(self, now_us: int) -> list[Input]:
        """Attempts that are done, then what became of requests."""
        done = sorted(attempt for attempt, end_us in self._ends().items() if end_us <= now_us)
        for attempt in done:
            del self.since_us[attempt]
        found = [*(self.launcher.ended(attempt) for attempt in done), *self.reports]
        self.reports = []
        return found

    def receive(self, now_us: int, requests: Sequence[LauncherRequest]) -> None:
        for request in requests:
            is_new = request.attempt not in self.launcher.running
            is_stopped = request.attempt in self.launcher.stopping
            self.launcher.receive([request])
            if isinstance(request, StartAttempt) and is_new:
                self.since_us[request.attempt] = now_us
                self.reports.append(self.launcher.started(request.attempt))
            elif not isinstance(request, StartAttempt) and not is_stopped:
                self.needed_us[job_of(request.attempt)] -= now_us - self.since_us.pop(
                    request.attempt
                )
                self.reports.append(self.launcher.ended(request.attempt, None, "stopped"))

    def _ends(self) -> dict[str, int]:
        return {
            attempt: since + self.needed_us[job_of(attempt)]
            for attempt, since in self.since_us.items()
        }


def job_of(attempt: str) -> int:
    return int(attempt.partition(".")[0])


def taken_by_the_master(rows: Rows, policy: ChoosePolicy) -> Taken:
    clock = [rows[0][0]]
    arrivals = [*enumerate(rows, 1)]
    processes = Processes({number: row[1] for number, row in arrivals})
    with tempfile.TemporaryDirectory() as home, JournalStore(f"{home}/journal.db") as store:
        master = Master(store, CLUSTER, Workplace(Path("/nowhere"), {}), lambda: clock[0])
        master.handle([policy])
        first = store.next_sequence
        while True:
            arrival_us = arrivals[0][1][0] if arrivals else NEVER_US
            clock[0] = min(master.recheck_at_us, processes.next_us(clock[0]), arrival_us)
            if clock[0] == NEVER_US:
                break
            inputs = processes.happened(clock[0])
            while arrivals and arrivals[0][1][0] == clock[0]:
                inputs.append(Submit(spec_of(arrivals.pop(0)[1][2]), "ann"))
            answers, requests = master.handle(inputs)
            assert [answer.error for answer in answers if answer.error] == []
            processes.receive(clock[0], requests)
        return [(each.at_us, json.loads(each.actions)) for each in store.records(first)]


def spec_of(gpus: int) -> Any:
    return job_spec({"name": "job", "run": "true", "workdir": "/", "processes": gpus})


def by_time(taken: Taken) -> dict[int, list[Any]]:
    """Actions of each time, by job.

    The fake driver's journal has a start with its decision, the master's once its slots are free.
    """
    found: dict[int, list[Any]] = {}
    for now_us, actions in taken:
        for action in actions:
            found.setdefault(now_us, []).append(action)
    return {now_us: sorted(actions, key=lambda each: each[1]) for now_us, actions in found.items()}


@pytest.mark.parametrize("name", POLICIES)
@settings(max_examples=examples(10))
@given(drawn=st.lists(jobs, min_size=1, max_size=8).map(sorted))
def test_the_master_takes_the_actions_of_the_other_drivers(name: str, drawn: Rows) -> None:
    """The fake driver takes those of the simulator: tests/engine/test_driver_parity.py."""
    policy, parameters = POLICIES[name]
    rows = [(submit * SECOND_US, length * SECOND_US, gpus) for submit, length, gpus in drawn]
    journal = Actions()
    own = make_policy(*find_policy(policy), parameters)
    drive(rows, CLUSTER.spec(), own, CountPlanner(), journal)
    taken = taken_by_the_master(rows, ChoosePolicy(policy, parameters))
    assert by_time(taken) == by_time(journal.taken)
    started = {action[1] for _, actions in taken for action in actions if action[0] == "Start"}
    assert started == set(range(1, len(rows) + 1))
