"""The thread of the master: whoever asks gets an answer, after its end, too."""

from __future__ import annotations

import errno
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from motet.live.jobs.job import LiveJob
from motet.live.jobs.job_file import job_spec
from motet.live.jobs.job_state import JobState
from motet.live.master.launcher_process import local_launcher
from motet.live.master.loop import MasterLoop, MasterStopped
from motet.live.master.requests import Workplace
from motet.live.master.state import LiveState
from motet.live.master.submissions.submission import Submit
from scripted_cluster import CLUSTER

SILENT_LAUNCHER = (sys.executable, "-c", "import sys; sys.stdin.read()")
SPOILED_ONCE = """
import os, sys
from pathlib import Path
marker, *launcher = sys.argv[1:]
if Path(marker).exists():
    os.execv(launcher[0], launcher)
Path(marker).touch()
print("Warning: disk is slow", flush=True)
sys.stdin.read()
"""
"""A launcher whose first run prints what is no report."""
JOB = Submit(job_spec({"name": "job", "run": "true", "workdir": "/"}), "ann", "")


def started_loop(
    folder: Path,
    follow: Callable[[Sequence[LiveJob]], None],
    launcher: Sequence[str] = SILENT_LAUNCHER,
) -> tuple[MasterLoop, list[BaseException]]:
    """A loop and the failures that ended it."""
    failures: list[BaseException] = []
    workplace = Workplace(folder, {"PATH": "/bin"}, ("unused",))
    address, end = str(folder / "journal.db"), failures.append
    loop = MasterLoop(address, CLUSTER, None, workplace, launcher, end, follow=follow)
    loop.start()
    return loop, failures


def jobs_of(state: LiveState) -> int:
    return len(state.jobs)


def test_requests_after_the_end_are_refused(tmp_path: Path) -> None:
    loop, failures = started_loop(tmp_path, lambda jobs: None)
    assert loop.read(jobs_of).result() == 0
    loop.close()

    for late in (loop.ask(JOB), loop.read(jobs_of), loop.until_final(1)):
        with pytest.raises(MasterStopped, match="the server is stopping"):
            late.result(timeout=60)
    assert failures == []


def test_waits_for_jobs_end_when_the_server_does(tmp_path: Path) -> None:
    loop, failures = started_loop(tmp_path, lambda jobs: None)
    number = loop.ask(JOB).result(timeout=60)
    wait = loop.until_final(number)
    assert loop.read(jobs_of).result(timeout=60) == 1
    assert not wait.done()

    loop.end_waits()

    for each in (wait, loop.until_final(number)):
        assert each.result(timeout=60) is None
    loop.close()
    assert failures == []


def test_requests_after_a_failure_are_told_of_it(tmp_path: Path) -> None:
    def fail(jobs: Sequence[LiveJob]) -> None:
        if len(jobs) == 1 and jobs[0].number == 2:
            raise OSError(errno.ENOSPC, "No space left on device")

    loop, failures = started_loop(tmp_path, fail)
    wait = loop.until_final(loop.ask(JOB).result(timeout=60))
    assert loop.read(jobs_of).result(timeout=60) == 1
    for each in (loop.ask(JOB), wait):
        with pytest.raises(MasterStopped, match="the journal cannot be written"):
            each.result(timeout=60)
    loop.close()

    for late in (loop.ask(JOB), loop.read(jobs_of)):
        with pytest.raises(MasterStopped, match="the journal cannot be written"):
            late.result(timeout=60)
    assert [getattr(each, "errno", None) for each in failures] == [errno.ENOSPC]


def test_an_unknown_line_of_the_launcher_leads_to_another_one(tmp_path: Path) -> None:
    program = (sys.executable, "-c", SPOILED_ONCE, str(tmp_path / "marker"))
    launcher = (*program, *local_launcher(tmp_path))
    loop, failures = started_loop(tmp_path, lambda jobs: None, launcher)
    number = loop.ask(JOB).result(timeout=60)
    loop.until_final(number).result(timeout=60)
    state = loop.read(lambda state: state.jobs[number].state).result(timeout=60)
    loop.close()
    assert (state, failures) == (JobState.SUCCEEDED, [])
