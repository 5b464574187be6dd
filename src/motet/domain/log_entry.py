"""What a journal for people holds: one thing that happened to one job."""

from __future__ import annotations

from typing import NamedTuple

from motet.domain.decision import Straggler
from motet.domain.snapshot import UNKNOWN, Placement
from motet.domain.units import NEVER_US

NOWHERE = Placement((), ())


class OtherJobs(NamedTuple):
    """Jobs that had to do with it: `first` of them as (job, GPUs), `total` in all."""

    first: tuple[tuple[int, int], ...] = ()
    total: int = 0


NOBODY = OtherJobs()


class Team(NamedTuple):
    """What a job runs with; `gpus`: of all of them."""

    workers: int
    servers: int
    gpus: int


class LogEntry(NamedTuple):
    """`event`: start, resume, migrate, resize (with another number of workers or servers), preempt,
    promote, demote, finish, or a `Wait` in lower case once a job waits for that reason, or has come
    much nearer to its turn.

    `gpus`: that the job asks for. `placement`: where it runs from now on, or ran until it was
    preempted; `left`: the slow machine for which it was placed anew, if it was. `others`: jobs with
    which it shares these GPUs; of a preemption those that got them; of a wait those that hold GPUs
    before it, or the head of the line that it may not overtake. `queue`: of the policy's own, from
    0 (UNKNOWN: it has none). `overhead_us`: of a job that finished, its time in checkpoints and
    restores.

    Of waits: `free_gpus` at the job's turn; `position`: how many jobs that wait are before it
    (UNKNOWN: it was nobody's turn); `until_us`: when the policy looks again by itself; `measure`,
    `bar`: by what the policy compared it and did not choose it, NaN where it did not;
    `usable_gpus`: of the free ones those with enough CPUs and memory beside them, where that was
    too few (UNKNOWN: it was not that).

    Of elastic jobs: `team` from now on; `team_before` it was resized, and in `exchange` those that
    got the GPUs which it gave up, or gave up some when it got more. `least_gpus` with which one
    that waits could run (UNKNOWN: with no fewer than it asks for).
    """

    time_us: int
    job: int
    event: str
    gpus: int = 0
    free_gpus: int = 0
    position: int = UNKNOWN
    placement: Placement = NOWHERE
    others: OtherJobs = NOBODY
    queue: int = UNKNOWN
    until_us: int = NEVER_US
    overhead_us: int = 0
    measure: float = float("nan")
    bar: float = float("nan")
    left: Straggler | None = None
    usable_gpus: int = UNKNOWN
    least_gpus: int = UNKNOWN
    team: Team | None = None
    team_before: Team | None = None
    exchange: OtherJobs = NOBODY
