"""Signals end a command at once, whatever it is doing, with everything that it started."""

from __future__ import annotations

import signal
import sys
import tempfile
from pathlib import Path

import psutil
import pytest

from marked_process import MarkedProcess
from soak_cases import others_in_soak

BUSY = {
    "asleep": "time.sleep(60)",
    "inside compiled code that holds the interpreter": "sum(itertools.repeat(0))",
    "swallowing everything": "swallow()",
    "starting processes": "start_processes()",
}
OFTEN = {"inside compiled code that holds the interpreter", "starting processes"}
"""In `make test`; `make soak` runs all."""
PROGRAM = """
import itertools, os, signal, subprocess, sys, tempfile, time
from motet.interfaces.cli.shell.process.supervisor import leave_on_signals, run_supervised

def swallow():
    while True:
        try:
            time.sleep(0.01)
        except BaseException:
            pass

def start_processes():
    while True:
        subprocess.run(["setsid", "--fork", "sleep", "60"])

def command():
    # A grandchild whose parent is gone, in a session of its own, as a daemon would be.
    subprocess.run(["setsid", "--fork", "sleep", "60"])
    print(tempfile.mkdtemp(), flush=True)
    {busy}

leave_on_signals()
sys.exit(run_supervised(command))
"""


@pytest.mark.parametrize(
    "number", others_in_soak([signal.SIGINT, signal.SIGTERM], [signal.SIGTERM])
)
@pytest.mark.parametrize(
    "busy",
    [
        pytest.param(busy, id=name, marks=() if name in OFTEN else pytest.mark.soak)
        for name, busy in BUSY.items()
    ],
)
def test_a_signal_ends_a_command_with_all_its_descendants_and_files(
    busy: str, number: signal.Signals
) -> None:
    running = MarkedProcess([sys.executable, "-c", PROGRAM.format(busy=busy)])
    scratch = running.first_line()

    code, out, err = running.end(number)

    assert (code, out, err) == (128 + number, "", "\nmotet: interrupted\n")
    assert running.descendants() == {}
    assert not Path(scratch).parent.exists()


def test_an_ordinary_end_leaves_nothing_behind_either() -> None:
    running = MarkedProcess([sys.executable, "-c", PROGRAM.format(busy="return 7")])
    scratch = running.first_line()

    assert running.process.wait(timeout=100) == 7
    assert running.descendants() == {}
    assert not Path(scratch).parent.exists()
    assert Path(scratch).parent.parent == Path(tempfile.gettempdir())


def test_a_killed_command_is_a_failure_with_a_message() -> None:
    program = PROGRAM.format(busy="os.kill(os.getpid(), signal.SIGKILL)")
    running = MarkedProcess([sys.executable, "-c", program])

    _, err = running.process.communicate(timeout=100)

    assert (running.process.returncode, err) == (1, "motet: error: stopped by SIGKILL\n")
    assert running.descendants() == {}


def test_a_killed_command_tells_how_to_continue(tmp_path: Path) -> None:
    record = tmp_path / "run.json"
    prepare = (
        "from pathlib import Path; "
        "from motet.interfaces.cli.shell.process.interruption import Hint, prepare_interruption; "
        f"prepare_interruption(Hint('continue with: x'), {{Path({str(record)!r}): '3'}})"
    )
    program = PROGRAM.format(busy=f"{prepare}; os.kill(os.getpid(), signal.SIGKILL)")
    running = MarkedProcess([sys.executable, "-c", program])

    _, err = running.process.communicate(timeout=100)

    assert running.process.returncode == 1
    assert err == "motet: error: stopped by SIGKILL\ncontinue with: x\n"
    assert record.read_text() == "3"


def test_a_command_killed_with_sigkill_leaves_no_process_and_no_file() -> None:
    running = MarkedProcess([sys.executable, "-c", PROGRAM.format(busy="time.sleep(60)")])
    scratch = running.first_line()
    running.process.kill()

    _, err = running.process.communicate(timeout=100)  # until the last process has closed it
    running.wait_until(lambda: running.descendants() == {}, timeout_s=60.0)
    assert err == "\nmotet: interrupted\n"
    assert not Path(scratch).parent.exists()


def test_a_sigterm_to_the_innermost_process_is_an_interruption() -> None:
    running = MarkedProcess([sys.executable, "-c", PROGRAM.format(busy="swallow()")])
    scratch = running.first_line()
    (supervisor,) = psutil.Process(running.process.pid).children()
    # The daemon may be "setsid" still, or have no command while it becomes "sleep".
    children = supervisor.children()
    (innermost,) = (each for each in children if each.cmdline()[:1] == [sys.executable])
    innermost.terminate()

    _, err = running.process.communicate(timeout=100)
    assert (running.process.returncode, err) == (128 + signal.SIGTERM, "\nmotet: interrupted\n")
    assert running.descendants() == {}
    assert not Path(scratch).parent.exists()


def test_a_killed_supervisor_leaves_no_process_and_no_file() -> None:
    running = MarkedProcess([sys.executable, "-c", PROGRAM.format(busy="time.sleep(60)")])
    scratch = running.first_line()
    (supervisor,) = psutil.Process(running.process.pid).children()
    supervisor.kill()

    _, err = running.process.communicate(timeout=100)
    assert (running.process.returncode, err) == (1, "motet: error: stopped by SIGKILL\n")
    assert running.descendants() == {}
    assert not Path(scratch).parent.exists()


def test_what_both_killed_processes_leave_is_removed_by_the_next_command() -> None:
    running = MarkedProcess([sys.executable, "-c", PROGRAM.format(busy="time.sleep(60)")])
    scratch = running.first_line()
    command = psutil.Process(running.process.pid)
    (supervisor,) = command.children()
    for each in (command, supervisor):
        each.suspend()
    for each in (supervisor, command):
        each.kill()

    try:
        running.wait_until(
            lambda: not any("python" in it for it in running.descendants().values()), timeout_s=60.0
        )
        MarkedProcess([sys.executable, "-c", PROGRAM.format(busy="return 0")]).process.wait(100)
        assert not Path(scratch).parent.exists()
    finally:
        running.kill_descendants()


def test_the_folder_of_a_running_command_is_kept() -> None:
    running = MarkedProcess([sys.executable, "-c", PROGRAM.format(busy="time.sleep(60)")])
    scratch = running.first_line()
    MarkedProcess([sys.executable, "-c", PROGRAM.format(busy="return 0")]).process.wait(100)
    assert Path(scratch).exists()
    running.end(signal.SIGINT)


def test_a_signal_before_the_command_starts_ends_the_process_without_a_traceback() -> None:
    program = """
import time
from motet.interfaces.cli.shell.process.supervisor import leave_on_signals
leave_on_signals()
print("ready", flush=True)
time.sleep(60)
"""
    running = MarkedProcess([sys.executable, "-c", program])
    running.first_line()

    assert running.end(signal.SIGINT) == (130, "", "")


def test_under_nohup_a_command_outlives_its_terminal() -> None:
    program = PROGRAM.format(busy="sys.stdin.readline(); return 7")
    running = MarkedProcess(["nohup", sys.executable, "-c", program])
    running.first_line()

    running.process.send_signal(signal.SIGHUP)
    running.process.communicate("go on\n", timeout=100)

    assert running.process.returncode == 7
    assert running.descendants() == {}
