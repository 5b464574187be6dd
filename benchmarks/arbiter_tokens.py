"""What the arbiter of a machine costs: a free token, and how long a token is idle while jobs wait.

`free`: a subtask of a job whose machine has a second job, which holds no token. `under load`: eight
jobs, each a process that alternates a COMP of 10 ms and a PUSH of 10 ms; the time from the end of a
COMP to the beginning of the next one while a job waits for the CPU token, as a part of all COMP.
Targets: 50 us, 2 % (on two cores).
"""

from __future__ import annotations

import multiprocessing
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

from motet.runtime.arbiter.arbiter_gate import ArbiterGate
from motet.runtime.arbiter.arbiter_process import ensure_arbiter
from motet.runtime.core.subtask import SubtaskKind
from support.figures import Figure, parser, report

JOBS, SUBTASK_S = 8, 0.010
MOST_FREE_US, MOST_IDLE = 50.0, 0.02
_FORK = multiprocessing.get_context("fork")
Work = Callable[[Path, int, Connection], None]


class Turn(NamedTuple):
    """One COMP; nanoseconds of the machine's monotonic clock."""

    asked_ns: int
    began_ns: int
    ended_ns: int


def free_token_us(address: Path, count: int) -> float:
    """Median of entering and leaving a COMP, beside a job that waits for nothing."""
    with _running(_stay, address, 1):
        gate = ArbiterGate(address, job="measured")
        times_ns = []
        for _ in range(count):
            gate.begin()
            began_ns = time.monotonic_ns()
            with gate.enter(SubtaskKind.COMP):
                pass
            times_ns.append(time.monotonic_ns() - began_ns)
        assert not gate.is_free
    return statistics.median(times_ns) / 1e3


def turns_under_load(address: Path, seconds: float) -> list[Turn]:
    """Of all jobs."""
    with _running(_alternate, address, JOBS) as pipes:
        time.sleep(seconds)
        for pipe in pipes:
            pipe.send(None)
        return [Turn(*turn) for pipe in pipes for turn in pipe.recv()]


def idle_ns(turns: Sequence[Turn]) -> list[int]:
    """Between each two COMPs: how long the token was free although a job waited for it."""
    ordered = sorted(turns, key=lambda turn: turn.began_ns)
    return [
        max(turn.began_ns - max(before.ended_ns, turn.asked_ns), 0)
        for before, turn in pairwise(ordered)
    ]


@contextmanager
def _running(work: Work, address: Path, count: int) -> Iterator[list[Connection]]:
    pairs = [_FORK.Pipe() for _ in range(count)]
    processes = [
        _FORK.Process(target=work, args=(address, number, theirs), daemon=True)
        for number, (_, theirs) in enumerate(pairs)
    ]
    for process in processes:
        process.start()
    pipes = [ours for ours, _ in pairs]
    try:
        for pipe in pipes:
            pipe.recv()  # It has connected.
        yield pipes
    finally:
        for process in processes:
            process.kill()
            process.join()


def _connected(address: Path, number: int, pipe: Connection) -> ArbiterGate:
    gate = ArbiterGate(address, job=f"job {number}")
    with gate.enter(SubtaskKind.PUSH):
        pass
    pipe.send(None)
    return gate


def _stay(address: Path, number: int, pipe: Connection) -> None:
    _gate = _connected(address, number, pipe)
    pipe.recv()


def _alternate(address: Path, number: int, pipe: Connection) -> None:
    gate, turns = _connected(address, number, pipe), list[Turn]()
    while not pipe.poll():
        gate.begin()
        asked_ns = time.monotonic_ns()
        with gate.enter(SubtaskKind.COMP):
            began_ns = time.monotonic_ns()
            while time.monotonic_ns() < began_ns + SUBTASK_S * 1e9:
                pass
            ended_ns = time.monotonic_ns()
        turns.append(Turn(asked_ns, began_ns, ended_ns))
        with gate.enter(SubtaskKind.PUSH):
            time.sleep(SUBTASK_S)
    pipe.send([tuple(turn) for turn in turns])


def main() -> None:
    """Both figures, each with an arbiter of its own."""
    given = parser(__doc__.splitlines()[0]).parse_args()
    with tempfile.TemporaryDirectory() as folder:
        free, loaded = Path(folder, "free"), Path(folder, "loaded")
        ensure_arbiter(free)
        free_us = free_token_us(free, 2_000 if given.quick else 20_000)
        ensure_arbiter(loaded)
        turns = turns_under_load(loaded, 3.0 if given.quick else 15.0)
    gaps_ns = idle_ns(turns)
    idle = sum(gaps_ns) / sum(turn.ended_ns - turn.began_ns for turn in turns)
    figures = [
        Figure("a free token", f"{free_us:.1f} us", "", free_us, MOST_FREE_US, False),
        Figure(
            f"CPU token idle while one of {JOBS} jobs waits",
            f"{idle:.2%} of COMP",
            f"median {statistics.median(gaps_ns) / 1e3:.0f} us",
            idle,
            MOST_IDLE,
            False,
        ),
    ]
    report("arbiter_tokens", "The arbiter of a machine", figures)


if __name__ == "__main__":
    main()
