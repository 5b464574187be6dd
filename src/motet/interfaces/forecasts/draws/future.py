"""One possible future: a simulation that goes on as far as is worth it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from motet.domain.actions import Action, Start
from motet.domain.arrays import Ints
from motet.domain.decision import Decision
from motet.domain.events import Event, Finished
from motet.domain.snapshot import Snapshot
from motet.domain.units import NEVER_US, SECOND_US
from motet.interfaces.forecasts.new_jobs import Releases
from motet.sim.replay.outcome import Outcome
from motet.sim.replay.progress_watch import EndlessSimulation
from motet.sim.replay.simulation import Simulation

HOUR_US = 3600 * SECOND_US
_FIRST_HORIZON_US = HOUR_US // 64
_GROWTH = 4
"""Each part goes on for a quarter of what is simulated already: little is simulated in vain."""
LONGEST_US = 4096 * HOUR_US
"""Half a year: what does not happen until then is unknown."""
WORK_OF_DECISION = 200


@dataclass(frozen=True)
class CutFuture:
    """What is known of a future that is not simulated to its end. `starts_us`: of jobs that waited
    before, by number; `reached_us`: the last decision."""

    starts_us: Mapping[int, int]
    reached_us: int


class TooMuch(Exception):
    """There is more to simulate than is worth it. `cut`: what was simulated; None: nothing."""

    cut: CutFuture | None = None


class NeverDecided(TooMuch):
    """The policy decides again and again at one time."""


Check: TypeAlias = Callable[[int], None]
"""Gets the work of each decision: WORK_OF_DECISION, and 1 for each job that waits after it; raises
TooMuch."""


def unlimited(work: int) -> None:
    """As much as there is."""
    del work


@dataclass(eq=False)
class StartWatch:
    """A journal that notes when jobs start for the first time. `started`: Unix time by place.

    `check`: gets the work; `work`: until now. `now_us`: of the last decision. `releases`: called
    with jobs that have ended.
    """

    check: Check
    work: int = 0
    now_us: int = 0
    started: dict[int, int] = field(default_factory=dict)
    releases: Releases | None = None

    def received(self, now_us: int, events: Sequence[Event]) -> None:
        """See Journal."""
        if self.releases is not None:
            for event in events:
                if isinstance(event, Finished):
                    self.releases.finished(now_us, event.job)

    def decided(
        self, now_us: int, snapshot: Snapshot, decision: Decision, actions: Sequence[Action]
    ) -> None:
        """See Journal."""
        for action in actions:
            if isinstance(action, Start):
                self.started.setdefault(action.job, now_us)
        work = WORK_OF_DECISION + int(np.count_nonzero(decision.gpus == 0))
        self.work, self.now_us = self.work + work, now_us
        self.check(work)


@dataclass(frozen=True, eq=False)
class Future:
    """One of them. `starts_us`: the next starts of jobs that wait now, by number; a job without
    one does not start within the time that was simulated. `ends_us`: of `jobs` of the futures,
    UNKNOWN for those without an end. `outcome`: of all, also of later ones, by place. `until_us`:
    how far it is known; NEVER_US: nothing happens afterwards. `work`: until now, see Check."""

    starts_us: Mapping[int, int]
    ends_us: Ints
    outcome: Outcome
    until_us: int
    work: int


def simulated_parts(
    simulation: Simulation,
    watch: StartWatch,
    jobs: Sequence[int],
    places: Sequence[int],
    now_us: int,
    last_given_us: int,
) -> Iterator[Future]:
    """The same future, simulated further each time. `jobs`: their numbers, by place; `places`:
    of those of `ends_us`; `last_given_us`: when the last of what users and machines do happens.

    Raises TooMuch, also where the policy decides without end.
    """

    def starts_us() -> dict[int, int]:
        return {jobs[place]: at_us for place, at_us in watch.started.items()}

    horizon_us, until_us = _FIRST_HORIZON_US, 0
    while until_us < min(now_us + LONGEST_US, NEVER_US):
        until_us = now_us + min(horizon_us, LONGEST_US)
        try:
            outcome = simulation.run(until_us=until_us)
        except EndlessSimulation:
            raise NeverDecided from None
        except TooMuch as error:
            error.cut = CutFuture(starts_us(), watch.now_us)
            raise
        if last_given_us < until_us and _is_idle(outcome, until_us - HOUR_US):
            until_us = NEVER_US
        ends_us = outcome.columns["end_us"][places]
        yield Future(starts_us(), ends_us, outcome, until_us, watch.work)
        horizon_us += horizon_us // _GROWTH


def _is_idle(outcome: Outcome, since_us: int) -> bool:
    """Whether no job has held slots since then. A policy that decides again and again would have
    let one start."""
    before = int(np.searchsorted(outcome.times_us, since_us, side="right"))
    return before > 0 and not outcome.used_gpus[before - 1 :].any()
