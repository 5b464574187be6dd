"""One attempt to run a job: a gang of processes on given slots, until all of them have ended."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from enum import StrEnum

from motet.domain.actions import Migrate
from motet.domain.snapshot import Placement
from motet.domain.units import SECOND_US
from motet.live.launcher.messages import RankExit, first_failure
from motet.live.slots.devices import Devices
from motet.live.slots.roster import Roster

UNFINISHED = os.EX_TEMPFAIL
"""Exit status of a training's process that has not finished and is to be run again.
A preempted training ends with it, and so does one that has lost another process."""


class AttemptPhase(StrEnum):
    """Where an attempt is. REQUESTED: the launcher starts it. STOPPING: a stop was requested."""

    REQUESTED = "requested"
    RUNNING = "running"
    STOPPING = "stopping"
    ENDED = "ended"


class StopCause(StrEnum):
    """Why the master stops an attempt."""

    PREEMPTED = "preempted"
    MIGRATED = "migrated"
    RESIZED = "resized"
    SUSPENDED = "suspended"
    CANCELLED = "cancelled"
    MACHINE_LOST = "machine_lost"
    TRIAL_PASSED = "trial_passed"
    TIME_LIMIT = "time_limit"


class AttemptOutcome(StrEnum):
    """How an attempt ended. LOST: by a failure of the infrastructure, not of the command."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    LOST = "lost"
    STOPPED = "stopped"


MOVES = (StopCause.MIGRATED, StopCause.RESIZED)
"""The next attempt begins on other slots, or on more or fewer of them, when this one has ended; or
on the same ones, to train asynchronously or not any more."""


@dataclass(slots=True)
class Attempt:
    """Times are Unix microseconds; None: not yet. `workers`, `servers`: of a training, else 0.

    `reported_us`: its last report of progress. `saved_us`: the latest write to the job's folder of
    checkpoints when it ended, 0: it was empty. `idle_since_us`: since when its processes write
    nothing, if that is long ago. `ended_us`: when the last of them ended, by their shepherds;
    `unheard_us`: how much later the master heard of it and its slots were free, perhaps after an
    outage of the server. `devices`: the GPUs that it holds on each machine of the
    placement; empty: its slots are none. `running_us`: since when all of its processes run, by the
    clocks of their machines. `stopping_us`: since when it is being stopped; `grace_s`: how long its
    processes have from then on until they are killed. `failure`: the key of a class of failures,
    `reason`: the failure for people; empty: none. `borrowed_byte_s`: memory times seconds, by
    lender.

    `began`: the attempt whose processes it goes on with, after a resize that did not stop them;
    else its own number. `roster`: of a gang that can be resized in this way. `is_resizing`: some of
    its processes have yet to join or to leave. `is_asynchronous`: the policy lets it train so.
    """

    number: int
    placement: Placement
    requested_us: int
    workers: int = 0
    servers: int = 0
    devices: tuple[Devices, ...] = ()
    phase: AttemptPhase = AttemptPhase.REQUESTED
    stop_cause: StopCause | None = None
    stopping_us: int | None = None
    grace_s: float = 0.0
    running_us: int | None = None
    ended_us: int | None = None
    unheard_us: int = 0
    reported_us: int | None = None
    saved_us: int | None = None
    idle_since_us: int | None = None
    outcome: AttemptOutcome | None = None
    failure: str = ""
    reason: str = ""
    exits: tuple[RankExit, ...] = ()
    borrowed_byte_s: dict[str, int] = field(default_factory=dict)
    began: int = 0
    roster: Roster | None = None
    is_resizing: bool = False
    is_asynchronous: bool = False

    def __post_init__(self) -> None:
        self.began = self.began or self.number

    @property
    def borrowed_byte_s_sum(self) -> int:
        """Of all lenders."""
        return sum(self.borrowed_byte_s.values())

    @property
    def processes(self) -> int:
        """Of the gang."""
        return sum(self.placement.counts)

    @property
    def has_ended(self) -> bool:
        """Whether none of its processes is left."""
        return self.phase is AttemptPhase.ENDED

    @property
    def was_preempted(self) -> bool:
        """Whether it was stopped for other jobs, and had not finished before it could be."""
        return self.stop_cause is StopCause.PREEMPTED and not self.has_finished_while_stopping

    @property
    def has_finished_while_stopping(self) -> bool:
        """Whether it was to be preempted, but finished meanwhile, as a training does after its last
        epoch."""
        is_done = self.outcome is AttemptOutcome.SUCCEEDED
        return self.stop_cause is StopCause.PREEMPTED and is_done

    def resized(self, action: Migrate, at_us: int) -> Attempt | None:
        """End at a resize that leaves its processes running, which go on in the attempt that is
        returned. None: they have to be stopped for it; nothing has changed.
        """
        if self.roster is None or self.phase is not AttemptPhase.RUNNING:
            return None
        if action.asynchronous != self.is_asynchronous:
            return None
        roster = self.roster.resized(action.placement)
        if roster is None:
            return None
        self.phase, self.outcome = AttemptPhase.ENDED, AttemptOutcome.STOPPED
        self.stop_cause, self.ended_us = self.cause_of(action), at_us
        return Attempt(
            self.number + 1,
            action.placement,
            at_us,
            action.workers,
            action.servers,
            phase=AttemptPhase.RUNNING,
            running_us=at_us,
            began=self.began,
            roster=roster,
            is_resizing=True,
            is_asynchronous=self.is_asynchronous,
        )

    def cause_of(self, action: Migrate) -> StopCause:
        """Why it ends when the job gets other slots."""
        is_same = (self.workers, self.servers) == (action.workers, action.servers)
        return StopCause.MIGRATED if is_same else StopCause.RESIZED

    @property
    def freed_us(self) -> int | None:
        """When the master knew that no process is left: its slots were free; None: not yet."""
        return None if self.ended_us is None else self.ended_us + self.unheard_us

    def last_end_us(self, exits: tuple[RankExit, ...], heard_us: int) -> int:
        """When the last of its processes ended, by their shepherds. `heard_us`: when the master
        hears of the ends, perhaps much later.

        Clocks of machines may differ from that of the master: so long after the start counts as
        lies between start and end on the machines. Without a known start, or where its processes
        began earlier, the end lies between the request and `heard_us`.
        """
        if not exits:
            return heard_us
        ended_s, begin_us = max(each.ended_s for each in exits), self.running_us
        starts = [each.started_s for each in exits if each.started_s is not None]
        if begin_us is None or len(starts) < len(exits) or self.began < self.number:
            least_us = self.requested_us if begin_us is None else begin_us
            return min(max(round(ended_s * SECOND_US), least_us), heard_us)
        lasted_us = max(round((ended_s - max(starts)) * SECOND_US), 0)
        return min(begin_us + lasted_us, heard_us)

    def ran_us(self, now_us: int) -> int:
        """From the start of the last of its processes to the end of the last one, or until now:
        also while they are being stopped."""
        if self.running_us is None:
            return 0
        until_us = now_us if self.ended_us is None else min(self.ended_us, now_us)
        return max(until_us - self.running_us, 0)


def outcome_of(
    exits: tuple[RankExit, ...], stop_cause: StopCause | None, *, loses_killed: bool = False
) -> AttemptOutcome:
    """The outcome by the ends of all processes; the first end decides which failure it was.

    A gang that finished before the stop signal reached it has succeeded; exit status 0 after the
    signal is a stop. `loses_killed`: of a training. A killed process is a failure of the
    infrastructure, and so is one that ends UNFINISHED; the job continues from its checkpoint. If
    its first process ends with status 0, all is done, also after the signal.
    """
    if loses_killed and exits[0].code == 0:
        return AttemptOutcome.SUCCEEDED
    if not any(end.has_failed for end in exits):
        return AttemptOutcome.SUCCEEDED
    if stop_cause is StopCause.MACHINE_LOST:
        return AttemptOutcome.LOST
    if stop_cause is not None:
        return AttemptOutcome.STOPPED
    rank = first_failure(exits)
    assert rank is not None
    first = exits[rank]
    is_lost = loses_killed and (first.signal is not None or first.code == UNFINISHED)
    if first.reason == "exited" and not is_lost:
        return AttemptOutcome.FAILED
    return AttemptOutcome.LOST


def told(exits: tuple[RankExit, ...], *, loses_killed: bool = False) -> str:
    """The first failure in a few words. `loses_killed`: see `outcome_of`."""
    rank = first_failure(exits)
    assert rank is not None
    end = exits[rank]
    who = f"process {rank}" if len(exits) > 1 else "the process"
    if end.reason == "lost":
        return f"{who} was lost: its shepherd was killed"
    if end.reason == "never_started":
        return f"{who} could not be started"
    if end.reason == "lease":
        return f"{who} lost the connection to the server and was stopped"
    if end.signal is not None:
        return f"{who} was killed by signal {end.signal}"
    if end.code == UNFINISHED and loses_killed:
        return f"{who} ended before training had finished"
    return f"{who} exited with status {end.code}"
