"""Messages between the coordinator of a gang and the machines of its processes.

`as_of_s` of a request: the latest time on the machine's own clock of which the coordinator knows.
The lease of a process is counted from there, and a machine ignores a request that is older than the
lease. So the coordinator knows when a process that it cannot reach has ended, however late requests
arrive. All requests may be repeated, and so may all reports.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias, get_args

from motet.live.launcher.gang import Phase
from motet.live.launcher.message_lines import read_line
from motet.live.launcher.messages import PARTS, RankExit, SizeWish, StartAttempt, SubtaskReport


@dataclass(frozen=True, slots=True)
class MeetingPoint:
    """Where rank 0 may listen, for all processes of a gang to find each other (`MASTER_ADDR`)."""

    address: str
    port: int


@dataclass(frozen=True, slots=True)
class HoldRanks:
    """Make the shepherds of these ranks ready, or find them again, and report their state."""

    start: StartAttempt
    own: tuple[int, ...]
    as_of_s: float


@dataclass(frozen=True, slots=True)
class InstructRanks:
    """The phase that all ranks of an attempt should have.

    `env`: variables of all their processes, which are known once all ranks are held. `dismissed`:
    these ranks are to stop, whatever the others do.
    """

    attempt: str
    phase: Phase
    stop_signal: int
    grace_s: float
    as_of_s: float
    env: Mapping[str, str] = field(default_factory=dict)
    dismissed: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class RenewLeases:
    """Processes of all attempts of the machine may run on."""

    as_of_s: float


@dataclass(frozen=True, slots=True)
class RankHeld:
    """The shepherd of a rank is ready. `meeting_point`: of the gang, from rank 0 only."""

    attempt: str
    rank: int
    meeting_point: MeetingPoint | None = None


@dataclass(frozen=True, slots=True)
class RankStarted:
    """The process of a rank runs since `at_s`, Unix time. `meeting_point`: see RankHeld."""

    attempt: str
    rank: int
    at_s: float
    meeting_point: MeetingPoint | None = None


@dataclass(frozen=True, slots=True)
class RankProgressed:
    """Fields as in AttemptProgressed."""

    attempt: str
    rank: int
    steps_done: float
    points: tuple[tuple[float, float], ...] = ()
    steps_per_s: float | None = None
    subtasks: SubtaskReport | None = None


@dataclass(frozen=True, slots=True)
class RankProposed:
    """Fields as in AttemptProposed."""

    attempt: str
    rank: int
    wish: SizeWish


@dataclass(frozen=True, slots=True)
class RankEnded:
    """Nothing is left of the process of a rank."""

    attempt: str
    rank: int
    end: RankExit


@dataclass(frozen=True, slots=True)
class RankElsewhere:
    """A rank was begun on another machine, or before this one was started again."""

    attempt: str
    rank: int


NodeRequest: TypeAlias = HoldRanks | InstructRanks | RenewLeases
RankReport: TypeAlias = (
    RankHeld | RankStarted | RankProgressed | RankProposed | RankEnded | RankElsewhere
)

_PARTS = {**PARTS, "start": StartAttempt, "end": RankExit, "meeting_point": MeetingPoint}
_KINDS = {kind.__name__: kind for kind in (*get_args(NodeRequest), *get_args(RankReport))}


def parse_node_message(line: str) -> NodeRequest | RankReport:
    """The message of a line. Raises BadInput."""
    message: NodeRequest | RankReport = read_line(line, _KINDS, _PARTS)
    return message
