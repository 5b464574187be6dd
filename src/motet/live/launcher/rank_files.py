"""The files of one process of an attempt (`motet.live.shepherd` describes them)."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, astuple, dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from motet.live.launcher.messages import (
    RankExit,
    RankTask,
    SizeWish,
    StartAttempt,
    SubtaskReport,
)
from motet.live.launcher.node_messages import HoldRanks, MeetingPoint
from motet.live.process_table import boot_id
from motet.live.shepherd import claim_folder, write_durably
from motet.live.slots.memory_groups import (
    group_parent,
    make_memory_group,
    remove_memory_group,
)

LOG = "log"
"""What a process prints."""
PROGRESS = "progress.jsonl"
"""What a process reports about its training: a JSON object per line, see `progress_line` and
`wish_line`."""

_TAIL_BYTES = 8192
MOST_CHECKPOINT_FILES = 5000
"""So many files in a job's folder of checkpoints are looked at."""
CHECKPOINT_FOLDER = "MOTET_CHECKPOINT_DIR"
"""Variable of every process: the folder of checkpoints of its job."""

NOTICE_SOCKET = "MOTET_NOTICE_SOCKET"
"""Variable of every process: where it wakes the launcher of its machine after a report."""
ARBITER = "MOTET_ARBITER"
"""Variable of a process of a training that may share its machines: where their arbiter listens."""
NODE_ADDRESS = "MOTET_NODE_ADDRESS"
"""Variable of a process on one of several machines: the address at which others reach its own."""


class ProgressLines(NamedTuple):
    """`steps`: lines of `progress_line`. `wish`: the latest size that the training proposes."""

    steps: list[dict[str, Any]]
    wish: SizeWish | None = None


class ShepherdIdentity(NamedTuple):
    """A process for all time. `start_ticks`: after the boot `boot`."""

    pid: int
    start_ticks: int
    boot: str


@dataclass(frozen=True, slots=True)
class Control:
    """What a shepherd has to do. `epoch`: of the master that wants it.

    `as_of_s`: from when on its lease is counted, on the clock of its machine. `env`: variables of
    the process beside those of its task.
    """

    epoch: int
    phase: str
    signal: int
    grace_s: float
    as_of_s: float
    env: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class RankFiles:
    """Reads and writes the folder of one process."""

    folder: Path

    @classmethod
    def of(cls, request: StartAttempt, rank: int) -> RankFiles:
        """Files of a rank of an attempt."""
        return cls(rank_folder(Path(request.folder), rank))

    def write_task(
        self,
        held: HoldRanks,
        rank: int,
        epoch: int,
        notify: Path,
        env: Mapping[str, str],
        meeting_point: MeetingPoint | None = None,
    ) -> None:
        """Create the folder and describe what the shepherd runs.

        `env`: of the machine. `meeting_point`: of the gang, for rank 0; it remains the same for all
        launchers to come.
        """
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        request = held.start
        task: RankTask = request.ranks[rank]
        group = None
        if task.memory_bytes:
            group = make_memory_group(self.folder, task.memory_bytes, group_parent())
        write_durably(
            self.folder / "task.json",
            {
                "attempt": request.attempt,
                "rank": rank,
                "epoch": epoch,
                "argv": task.argv,
                "cwd": task.cwd,
                "env": {**task.env, **env, NOTICE_SOCKET: str(notify)},
                "lease_s": request.lease_s,
                "as_of_s": held.as_of_s,
                "memory": group and asdict(group),
                "stop": {"signal": request.stop_signal, "grace_s": request.grace_s},
                "notify": str(notify),
                "meeting_point": None if meeting_point is None else asdict(meeting_point),
            },
        )

    def remove_memory_group(self) -> None:
        """After the end of the process and of all that it started."""
        group = (self._read("task.json") or {}).get("memory")
        if group is not None:
            remove_memory_group(group["folder"])

    def write_control(self, control: Control) -> None:
        """Replace the instructions of the shepherd."""
        write_durably(self.folder / "control.json", asdict(control))

    def identity(self) -> ShepherdIdentity | None:
        """The shepherd of the folder; None: there has been none."""
        found = self._read("shepherd.json")
        return None if found is None else ShepherdIdentity(**found)

    def withdraw(self) -> bool:
        """Whether no shepherd has the folder; from now on none can claim it. Raises OSError."""
        no_process = ShepherdIdentity(os.getpid(), start_ticks=-1, boot=boot_id())
        return claim_folder(self.folder, no_process._asdict())

    def meeting_point(self) -> MeetingPoint | None:
        """As `write_task` was told."""
        found = (self._read("task.json") or {}).get("meeting_point")
        return None if found is None else MeetingPoint(**found)

    def started_s(self) -> float | None:
        """When the process was started, Unix time; None: it has not been started."""
        found = self._read("started.json")
        return None if found is None else float(found["at"])

    def exit(self) -> RankExit | None:
        """The end of the process; None: it has not ended, or its shepherd was killed."""
        found = self._read("exit.json")
        if found is None:
            return None
        return RankExit(
            found["code"],
            found["signal"],
            found["reason"],
            found["started_at"],
            found["ended_at"],
        )

    @property
    def log_path(self) -> Path:
        """Where the process writes what it prints."""
        return self.folder / LOG

    def log(self, line: str) -> None:
        """Append a line to what the process has printed."""
        with suppress(OSError):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with open(self.log_path, "a", encoding="utf-8", opener=_private) as file:
                file.write(line + "\n")

    def log_tail(self) -> str:
        """The last lines of what the process has printed."""
        try:
            with open(self.log_path, "rb") as file:
                size = os.fstat(file.fileno()).st_size
                file.seek(max(0, size - _TAIL_BYTES))
                return file.read(_TAIL_BYTES).decode(errors="replace")
        except OSError:
            return ""

    def progress(self, offset: int) -> tuple[ProgressLines, int]:
        """Reports of progress from `offset` on, and where the next one begins.

        A line that is not complete yet is left for later; one that is no report is passed over.
        """
        try:
            with open(self.folder / PROGRESS, "rb") as file:
                file.seek(offset)
                whole = file.read().rpartition(b"\n")[0]
        except FileNotFoundError:
            return ProgressLines([]), offset
        if not whole:
            return ProgressLines([]), offset
        found = [_report(line) for line in whole.split(b"\n")]
        wishes = [each for each in found if isinstance(each, SizeWish)]
        steps = [each for each in found if isinstance(each, dict)]
        return ProgressLines(steps, wishes[-1] if wishes else None), offset + len(whole) + 1

    def _read(self, name: str) -> dict[str, Any] | None:
        try:
            found: dict[str, Any] = json.loads((self.folder / name).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        return found


def checkpoint_writes_us(folder: Path) -> list[int]:
    """When the files in a job's folder of checkpoints were written, ascending; Unix time."""
    return sorted(_written_us(path) for path in islice(folder.rglob("*"), MOST_CHECKPOINT_FILES))


def _written_us(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns // 1000
    except OSError:  # It was removed meanwhile.
        return 0


def rank_folder(attempt_folder: Path, rank: int) -> Path:
    """The folder of a process of an attempt."""
    return attempt_folder / f"rank-{rank}"


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def progress_line(
    steps_done: float,
    points: Sequence[tuple[float, float]],
    steps_per_s: float | None,
    subtasks: SubtaskReport | None = None,
) -> str:
    """A line of PROGRESS. `points`: losses after these steps, since the line before."""
    values = {"steps_done": steps_done, "points": [*points], "steps_per_s": steps_per_s}
    times = {}
    if subtasks is not None:  # A job that does not overlap writes what it wrote before.
        times["subtasks"] = astuple(subtasks)[: None if subtasks.overlaps else -1]
    return json.dumps({**values, **times}, allow_nan=False) + "\n"


def _subtasks(
    machines: Any,
    comp_s: Any,
    comm_s: Any,
    iteration_s: Any = None,
    memory_bytes: Any = None,
    least_memory_bytes: Any = None,
    outside_s: Any = 0.0,
    overlaps: Any = False,
) -> SubtaskReport:
    """Raises ValueError, TypeError."""
    whole_s = None if iteration_s is None else float(iteration_s)
    sizes = (memory_bytes, least_memory_bytes)
    most, least = (None if each is None else int(each) for each in sizes)
    times = float(comp_s), float(comm_s), whole_s
    return SubtaskReport(int(machines), *times, most, least, float(outside_s), bool(overlaps))


def wish_line(wish: SizeWish) -> str:
    """A line of PROGRESS."""
    return json.dumps({"wish": asdict(wish)}, allow_nan=False) + "\n"


def _report(line: bytes) -> dict[str, Any] | SizeWish | None:
    try:
        found = json.loads(line)
        if "wish" in found:
            wish = found["wish"]
            number, workers, servers = (int(wish[it]) for it in ("number", "workers", "servers"))
            return SizeWish(number, workers, servers, float(wish["gain"]))
        points = [(float(step), float(loss)) for step, loss in found["points"]]
        speed, subtasks = found["steps_per_s"], found.get("subtasks")
        return {
            "steps_done": float(found["steps_done"]),
            "points": points,
            "steps_per_s": None if speed is None else float(speed),
            "subtasks": None if subtasks is None else _subtasks(*subtasks),
        }
    except (ValueError, KeyError, TypeError):
        return None
