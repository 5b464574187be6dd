"""Jobs by state, slots and machines of the live cluster, kept current by what every step changes.

A scrape reads them without the thread of the master, which may be deciding for seconds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from motet.domain.snapshot import Placement
from motet.live.jobs.job import LiveJob
from motet.live.jobs.job_state import JobState
from motet.live.master.state import LiveState

WAITING = (JobState.PENDING, JobState.PREEMPTED)
MACHINE_STATES = ("up", "draining", "drained", "closed", "gone")
SLOT_STATES = ("used", "free", "closed")


@dataclass(frozen=True, slots=True)
class JobMoves:
    """What has changed: queues of new jobs, and final states that jobs have reached."""

    submitted: list[str]
    finished: list[JobState]


class ClusterFigures:
    """`jobs`: how many have a state and a queue; `queues`: all names. `idle`: jobs that run without
    progress.

    Not safe for threads: `ServerMetrics` holds a lock.
    """

    def __init__(self) -> None:
        self.jobs: Counter[tuple[JobState, str]] = Counter()
        self.queues: tuple[str, ...] = ()
        self.idle: set[int] = set()
        self._open: dict[int, tuple[JobState, str]] = {}
        self._held: dict[int, Placement] = {}
        self._last = 0
        self._used: Counter[int] = Counter()
        self._machines: tuple[tuple[int, str], ...] = ()
        self._of_gpus: frozenset[int] = frozenset()

    def _follow_idleness(self, job: LiveJob) -> None:
        if job.idle_since_us is not None:
            self.idle.add(job.number)
        else:
            self.idle.discard(job.number)

    def follow(self, jobs: Iterable[LiveJob]) -> JobMoves:
        """Take over jobs that have changed; each at least once, in the order of their ids."""
        moves = JobMoves([], [])
        for job in jobs:
            self._follow_slots(job)
            self._follow_idleness(job)
            now, before = (job.state, job.spec.queue), self._open.pop(job.number, None)
            if before is not None:
                self.jobs[before] -= 1
            elif job.number > self._last:
                self._last = job.number
                moves.submitted.append(job.spec.queue)
            else:  # It was over already: its last processes have ended.
                continue
            self.jobs[now] += 1
            if job.state.is_final:
                moves.finished.append(job.state)
            else:
                self._open[job.number] = now
        return moves

    def follow_cluster(self, state: LiveState) -> None:
        """Take over queues and conditions of the machines."""
        self.queues = tuple(state.queues)
        if state.cluster is not None:
            self._machines = tuple(
                (slots, "drain" if condition == "up" and has_drain else condition)
                for slots, condition, has_drain in zip(
                    state.cluster.slots,
                    state.conditions,
                    map(state.drains.has_begun, state.cluster.names),
                    strict=True,
                )
            )
            numbers = range(len(self._machines))
            self._of_gpus = frozenset(filter(state.cluster.devices_of, numbers))

    def waiting(self) -> dict[str, int]:
        """Jobs that wait for slots, by queue."""
        return {queue: sum(self.jobs[state, queue] for state in WAITING) for queue in self.queues}

    def machines(self) -> dict[str, int]:
        """Machines by state. Draining ones run jobs still; drained ones no longer."""
        count = Counter(
            ("draining" if self._used[number] else "drained") if condition == "drain" else condition
            for number, (_, condition) in enumerate(self._machines)
        )
        return {state: count[state] for state in MACHINE_STATES}

    def slots(self) -> dict[str, int]:
        """Slots by state; closed ones are unused and on machines that take no jobs."""
        count = Counter[str]()
        for number, (slots, condition) in enumerate(self._machines):
            used = self._used[number]
            count["used"] += used
            if condition != "gone":
                count["free" if condition == "up" else "closed"] += max(slots - used, 0)
        return {state: count[state] for state in SLOT_STATES}

    def gpu_usage(self) -> float | None:
        """Used GPUs by all of machines that have not left; None: there are none."""
        present = [number for number in self._of_gpus if self._machines[number][1] != "gone"]
        total = sum(self._machines[number][0] for number in present)
        return sum(self._used[number] for number in present) / total if total else None

    def _follow_slots(self, job: LiveJob) -> None:
        if (before := self._held.pop(job.number, None)) is not None:
            self._used.subtract(_counts(before))
        if (attempt := job.attempt) is not None:
            self._held[job.number] = attempt.placement
            self._used.update(_counts(attempt.placement))


def _counts(placement: Placement) -> dict[int, int]:
    machines: Sequence[int] = placement.machines
    return dict(zip(machines, placement.counts, strict=True))
