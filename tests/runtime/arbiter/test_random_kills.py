"""Processes die at random moments while others take turns and new ones join."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from motet.runtime.arbiter.arbiter_gate import ArbiterGate
from motet.runtime.arbiter.arbiter_process import ensure_arbiter
from motet.runtime.core.subtask import SubtaskKind

KILLS, PROCESSES = 40, 4
MEMBER = """
import fcntl
import os
import sys
from pathlib import Path
from motet.runtime.arbiter import arbiter_gate
from motet.runtime.arbiter.arbiter_process import ensure_arbiter
from motet.runtime.core.subtask import SubtaskKind

arbiter_gate.PATIENCE_S = 300.0  # An arbiter that a busy machine starves is not taken for stopped.
folder = Path(sys.argv[1])
address = folder / "arbiter"
cpu, *network = [os.open(folder / name, os.O_RDWR | os.O_CREAT) for name in ("cpu", "one", "two")]

def taken(places):
    for place in places:
        try:
            fcntl.lockf(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return place
        except BlockingIOError:
            pass
    sys.exit("more holders than tokens")

gate = arbiter_gate.ArbiterGate(address, lambda: ensure_arbiter(address, limit_s=1e6))
turns = 0
while True:
    gate.begin()
    for kind, places in (
        (SubtaskKind.PULL, network), (SubtaskKind.COMP, [cpu]), (SubtaskKind.PUSH, network)
    ):
        with gate.enter(kind):
            place = taken(places)
            sum(range(2000))
            fcntl.lockf(place, fcntl.LOCK_UN)
    turns += 1
    print(turns, flush=True)
"""
"""Locks a file for each token, and tells after each turn.

At the end of a process the kernel frees such locks before it closes the connection to the arbiter;
locks of `flock` it may free after that, when another process has the token already.
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """With an arbiter that takes no token away; no process of a failed test remains.

    Two jobs are connected throughout: a job that is alone takes no tokens, nor does its current
    subtask when another one connects.
    """
    address = tmp_path / "arbiter"
    ensure_arbiter(address, limit_s=1e6)
    connected = [ArbiterGate(address, job=job) for job in ("first", "second")]
    for each in connected:
        with each.enter(SubtaskKind.COMP):
            pass
    yield tmp_path
    for each in psutil.process_iter():
        with suppress(psutil.Error):
            if {str(address), str(tmp_path)} & {*each.cmdline()}:
                each.kill()


def member(folder: Path) -> subprocess.Popen[str]:
    """It has not begun to take turns yet."""
    command = [sys.executable, "-c", MEMBER, str(folder)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def has_had_turns(process: subprocess.Popen[str], turns: int) -> bool:
    """Waits for so many further ones."""
    assert process.stdout is not None
    return all(process.stdout.readline() for _ in range(turns))


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_tokens_of_processes_that_die_at_any_moment_pass_on(folder: Path) -> None:
    chance = random.Random(1)
    members = [member(folder) for _ in range(PROCESSES)]
    assert all(has_had_turns(each, 1) for each in members)
    for _ in range(KILLS):
        joining = member(folder)
        victim = members.pop(chance.randrange(PROCESSES))
        assert has_had_turns(victim, chance.randrange(1, 30))
        victim.kill()
        victim.wait()
        members.append(joining)
    assert all(has_had_turns(each, 3) for each in members)
    assert [each.poll() for each in members] == [None] * PROCESSES
    for each in members:
        each.kill()
        each.wait()
    gate = ArbiterGate(folder / "arbiter")
    for kind in (SubtaskKind.COMP, SubtaskKind.PUSH):
        with gate.enter(kind):
            pass
