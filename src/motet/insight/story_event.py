"""One entry of a decision log with names, as a story is made from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class OtherJob:
    """`gpus`: that it holds, got, or (the head of a line) asks for."""

    job: str
    gpus: int


@dataclass(frozen=True)
class Team:
    """Workers and servers of an elastic job, and on how many GPUs they are."""

    workers: int
    servers: int
    gpus: int


@dataclass(frozen=True)
class Happening:
    """`event`: wait, start, resume, migrate, resize, preempt, evict, suspend,
    unsuspend, promote, demote, finish, cancel, fail.

    `reason`: of a wait. `gpus`: that the job asks for. `free_gpus`, `place`: at its turn, `place`
    among those that waited, from 1. `machines`: GPUs by machine, where it runs from now on or ran
    until now. `others`: of a wait its blockers, of a preemption those that got the GPUs, else the
    job that shares them; the first of `others_total`. `queue`: the policy's own, from 1.
    `until_us`: when the policy looks again by itself. `overhead_us`: time in checkpoints and
    restores of a job that finished. `measure`, `bar`: of a wait, by what it was compared with
    others, and that of the last who was chosen. `left`: the machine for which it was placed anew,
    as computing took `times_as_long` there.

    Of elastic jobs: `least_gpus` with which one that waits could run; `usable_gpus`, how many of
    the free ones had beside them what it needs; `team` from now on; `team_before` it was resized,
    and the first of `exchange_total` in `exchange` that got the GPUs which it gave up, or gave up
    some when it got more.
    """

    time_us: int
    event: str
    gpus: int
    reason: str = ""
    free_gpus: int | None = None
    place: int | None = None
    machines: Mapping[str, int] = field(default_factory=dict)
    others: tuple[OtherJob, ...] = ()
    others_total: int = 0
    queue: int | None = None
    until_us: int | None = None
    overhead_us: int = 0
    measure: float | None = None
    bar: float | None = None
    left: str | None = None
    times_as_long: float | None = None
    least_gpus: int | None = None
    usable_gpus: int | None = None
    team: Team | None = None
    team_before: Team | None = None
    exchange: tuple[OtherJob, ...] = ()
    exchange_total: int = 0
