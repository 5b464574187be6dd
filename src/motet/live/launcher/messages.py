"""Messages between master and launcher, one JSON object per line.

Requests are idempotent: the master repeats them after a restart of either process. Reports are
repeated as well; the master ignores those that it has recorded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

from motet.live.launcher.message_lines import read_line

ExitReason: TypeAlias = Literal["exited", "stopped", "lease", "never_started", "lost", "dismissed"]
"""`stopped`: after a stop signal. `lease`: the launcher did not renew the lease. `lost`: the
shepherd was killed, so that the exit status is unknown. `dismissed`: the process had to leave a
gang that went on; however it ended, it has not failed."""


@dataclass(frozen=True, slots=True)
class RankTask:
    """One process of a gang. `machine`: name of its machine. `env`: its complete environment.

    `memory_bytes`: its limit, where the machine can enforce one; 0: none.
    """

    machine: str
    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str] = field(default_factory=dict)
    memory_bytes: int = 0


@dataclass(frozen=True, slots=True)
class StartAttempt:
    """Start a gang: all of its processes or none. `folder`: of the attempt.

    `stop_signal`, `grace_s`: how the processes are stopped when one of them fails. `lease_s`: the
    processes are stopped when they hear nothing for this time. `archive`: of a snapshot; the folder
    in which rank 0 starts is made from it if it is missing. Empty: that folder is there.
    `takes_slots`: False: it runs beside jobs, and its machines reserve nothing for it.

    A gang may be resized while it runs: the same attempt is then requested with further `ranks`,
    which join it, and with ranks that are `dismissed`, which are stopped. `joined`: how many of the
    last ranks have joined; they leave when rank 0 has ended successfully.
    """

    attempt: str
    folder: str
    ranks: tuple[RankTask, ...]
    stop_signal: int
    grace_s: float
    lease_s: float
    archive: str = ""
    takes_slots: bool = True
    joined: int = 0
    dismissed: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class StopAttempt:
    """Stop all processes of a gang: the signal, then SIGKILL after the grace period."""

    attempt: str
    stop_signal: int
    grace_s: float


@dataclass(frozen=True, slots=True)
class RankExit:
    """The end of one process. `code` and `signal`: at most one of them is known.

    `started_s`, `ended_s`: Unix time; `started_s` is None if the process was never started.
    """

    code: int | None
    signal: int | None
    reason: ExitReason
    started_s: float | None
    ended_s: float

    @property
    def has_failed(self) -> bool:
        """Whether it makes the other processes of a gang stop, or is due to their stop."""
        if self.reason == "dismissed":
            return False
        return self.code != 0 or self.reason != "exited"


def first_failure(exits: tuple[RankExit, ...]) -> int | None:
    """The rank whose end made the others stop; None: no process has failed."""
    failed = [
        (end.reason == "stopped", end.ended_s, rank)
        for rank, end in enumerate(exits)
        if end.has_failed
    ]
    return min(failed)[2] if failed else None


@dataclass(frozen=True, slots=True)
class AttemptRunning:
    """All processes of the gang have been started. `at_s`: Unix time of the last one."""

    attempt: str
    at_s: float


@dataclass(frozen=True, slots=True)
class AttemptResized:
    """The gang has its new size: all ranks of the request have been started, and those that were
    dismissed have ended. `size`: how many it has had; `dismissed`: as in the request."""

    attempt: str
    size: int
    dismissed: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SubtaskReport:
    """Seconds of COMP and COMM in an iteration on so many machines, and of the whole iteration with
    its waits (None: unknown): the means since the last report. `memory_bytes`: of its processes on
    the machine with the most, at most since then, `least_memory_bytes`: at that time on the one
    with the least (None: unknown). `outside_s`: CPU time of a process of it outside of COMP, in an
    iteration. `overlaps`: COMM ran beside COMP."""

    machine_count: int
    comp_s: float
    comm_s: float
    iteration_s: float | None = None
    memory_bytes: int | None = None
    least_memory_bytes: int | None = None
    outside_s: float = 0.0
    overlaps: bool = False


@dataclass(frozen=True, slots=True)
class AttemptProgressed:
    """The job has trained further. Fields as in the events ProgressMeasured and SpeedMeasured.

    `points`: losses in ascending order of steps; those of earlier reports may be repeated.
    `subtasks`: as in SubtasksMeasured; None: the job does not report them.
    """

    attempt: str
    steps_done: float
    points: tuple[tuple[float, float], ...] = ()
    steps_per_s: float | None = None
    subtasks: SubtaskReport | None = None


@dataclass(frozen=True, slots=True)
class SizeWish:
    """What a training proposes for itself. `number`: from 1, of the proposals of its attempt.

    `gain`: as in the event SizeProposed.
    """

    number: int
    workers: int
    servers: int
    gain: float


@dataclass(frozen=True, slots=True)
class AttemptProposed:
    """The job proposes a size; the latest proposal counts."""

    attempt: str
    wish: SizeWish


@dataclass(frozen=True, slots=True)
class AttemptEnded:
    """No process of the gang is left. `exits`: by rank. `log_tail`: the end of the log of the
    process that failed first; empty: none has failed. `saved_us`: the latest write to the folder of
    checkpoints of the job (Unix microseconds), 0: it is empty; None: unknown."""

    attempt: str
    exits: tuple[RankExit, ...]
    log_tail: str = ""
    saved_us: int | None = None


@dataclass(frozen=True, slots=True)
class MachineSeen:
    """A machine of a cluster that is joined. `takes_jobs`: not while it is drained or restarted.

    `devices`: the GPUs that are its slots, as in CUDA_VISIBLE_DEVICES; empty: they are not GPUs.
    `cpus`, `memory_bytes`: 0: unknown. `has_notice`: the cluster drains it, as after the notice of
    a spot machine.
    """

    name: str
    slots: int
    takes_jobs: bool
    devices: str = ""
    cpus: int = 0
    memory_bytes: int = 0
    has_notice: bool = False


@dataclass(frozen=True, slots=True)
class ClusterSeen:
    """The machines of a cluster that is joined; one that is missing has left.

    `refusal`: why the cluster cannot be reached; what is known of its machines holds then.
    """

    machines: tuple[MachineSeen, ...]
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class MachineExamined:
    """What a machine of a cluster that is joined tells of itself; it is not recorded.

    `version`: of Motet; empty: unknown, for example of a machine that was not reached. `refusal`:
    why it was not. `clock_offset_s`: its Unix time less that of the server, at most `clock_error_s`
    wrong; None: unknown. `at_s`: Unix time of the server.
    """

    name: str
    at_s: float
    refusal: str = ""
    version: str = ""
    python: str = ""
    ray: str = ""
    clock_offset_s: float | None = None
    clock_error_s: float | None = None


LauncherRequest: TypeAlias = StartAttempt | StopAttempt
Report: TypeAlias = (
    AttemptRunning
    | AttemptResized
    | AttemptProgressed
    | AttemptProposed
    | AttemptEnded
    | ClusterSeen
)
"""What the master records."""
LauncherMessage: TypeAlias = LauncherRequest | Report | MachineExamined

PARTS = {
    "ranks": RankTask,
    "exits": RankExit,
    "machines": MachineSeen,
    "subtasks": SubtaskReport,
    "wish": SizeWish,
}
_KINDS = {kind.__name__: kind for kind in get_args(LauncherMessage)}


def parse_message(line: str) -> LauncherMessage:
    """The message of a line. Raises BadInput."""
    message: LauncherMessage = read_line(line, _KINDS, PARTS)
    return message
