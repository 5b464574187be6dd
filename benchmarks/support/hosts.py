"""A testbed for the length of a measurement, and commands on its front. Needs root."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from motet.testbed.hosts import Limits
from motet.testbed.layout import HostLayout
from motet.testbed.machine import require_testbed_machine
from motet.testbed.state import read_state
from motet.testbed.testbed import Testbed

ROOT = Path(__file__).resolve().parents[2]
MOTET = (sys.executable, "-m", "motet.interfaces.cli")
UP_TIMEOUT_S = 240.0
END_TIMEOUT_S = 10.0
HURRIED_CPUS = 0.8
FIRST_NICE, MOST_SHARES = -15, 262144
LAST_ACT_TIMEOUT_S = 120.0
"""What a line made somebody do may go on when the command has ended."""


class CommandFailed(Exception):
    """A command of a measurement ended badly; the message has its last words."""


@dataclass(frozen=True)
class Line:
    """A line that a command said on stderr. `at_s`: when, Unix time."""

    at_s: float
    text: str


@dataclass(frozen=True)
class Hosts:
    """A testbed that is up."""

    name: str

    def run(
        self,
        command: Sequence[str],
        timeout_s: float,
        heard: Callable[[Line], None] = lambda line: None,
    ) -> str:
        """What a command on the front prints. `heard`: told every line of stderr as it comes.

        Raises CommandFailed, also when it takes too long.
        """
        process = subprocess.Popen(
            [*MOTET, "testbed", "run", "--name", self.name, "--", *command],
            env=_environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        lines: list[Line] = []
        listener = threading.Thread(target=_listen, args=(process, lines, heard), daemon=True)
        alarm = threading.Timer(timeout_s, process.terminate)
        assert process.stdout is not None
        try:
            # A SIGTERM may arrive in the middle of a start: the alarm runs then, too.
            listener.start()
            alarm.start()
            out = process.stdout.read()
            code = process.wait()
        finally:
            # Python waits for this thread, too, before it ends.
            is_late = not alarm.is_alive()
            alarm.cancel()
            _end(process)
        listener.join(LAST_ACT_TIMEOUT_S)
        if code or is_late:
            words = " | ".join(line.text for line in lines[-3:])
            reason = f"took more than {timeout_s:.0f} s" if is_late else f"exit status {code}"
            raise CommandFailed(f"{reason}: {words}")
        return out

    def tell(self, command: str, *words: str) -> None:
        """Carry out `motet testbed COMMAND` on this testbed. Raises CommandFailed."""
        _testbed(command, *words, "--name", self.name)

    def give_cpus(self, hosts_by_cpus: Mapping[str, Sequence[str]]) -> None:
        """Change quotas at once, without a command's start. `hosts_by_cpus`: names, or `all`."""
        bed = Testbed(HostLayout(self.name), require_testbed_machine())
        for cpus, hosts in hosts_by_cpus.items():
            bed.change(hosts, Limits(cpus=float(cpus)))


def unwind_when_terminated() -> None:
    """Hosts are to be removed however this process ends: the first SIGTERM raises SystemExit."""

    def unwind(number: int, frame: object) -> NoReturn:
        del frame
        signal.signal(number, signal.SIG_IGN)
        sys.exit("terminated")

    signal.signal(signal.SIGTERM, unwind)


@contextmanager
def hurried(name: str) -> Iterator[None]:
    """All hosts have more CPU in this context, then their limits again. Links keep their limits:
    what COMM took on others would be counted for COMM that yields later (`CommTimes`)."""
    bed = Testbed(HostLayout(name), require_testbed_machine())
    before = read_state(bed.layout).blueprint.machines[0].limits
    bed.change(["all"], Limits(cpus=HURRIED_CPUS))
    try:
        yield
    finally:
        bed.change(["all"], before)


def run_first(name: str) -> None:
    """Hosts, and this process, get CPUs before all others of the machine, as far as their quotas
    allow: then what else runs there delays a measurement little. Control groups of version 1."""
    os.setpriority(os.PRIO_PROCESS, 0, FIRST_NICE)
    with contextlib.suppress(FileNotFoundError):  # The kernel has no groups of sessions.
        Path("/proc/self/autogroup").write_text(str(FIRST_NICE))
    layout, groups = HostLayout(name), require_testbed_machine()
    for host in read_state(layout).blueprint.machines:
        for file in groups.members_files(layout.label_of(host)):
            shares = file.parent / "cpu.shares"
            if shares.exists():
                shares.write_text(str(MOST_SHARES))


@contextmanager
def hosts_up(name: str, *shape: str) -> Iterator[Hosts]:
    """A testbed made by `motet testbed up SHAPE`, removed at the end. Raises CommandFailed."""
    try:
        _up(name, shape)
        yield Hosts(name)
    finally:
        try:
            _testbed("down", "--name", name)
        except SystemExit:
            # Terminated in the middle of it, which does not happen twice.
            _testbed("down", "--name", name)
            raise


def _up(name: str, shape: Sequence[str]) -> None:
    """Once more if Ray did not start in time, as happens on a busy machine."""
    _testbed("down", "--name", name)
    try:
        _testbed("up", "--name", name, *shape)
    except CommandFailed:
        _testbed("up", "--name", name, *shape)


def _testbed(command: str, *words: str) -> None:
    done = subprocess.run(
        [*MOTET, "testbed", command, *words],
        env=_environment(),
        capture_output=True,
        text=True,
        timeout=UP_TIMEOUT_S,
        check=False,
    )
    if done.returncode:
        raise CommandFailed(f"motet testbed {command}: {done.stderr.strip()}")


def _end(process: subprocess.Popen[str]) -> None:
    """And all of its group, if it still runs."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(END_TIMEOUT_S)


def _listen(
    process: subprocess.Popen[str], lines: list[Line], heard: Callable[[Line], None]
) -> None:
    assert process.stderr is not None
    for text in process.stderr:
        line = Line(time.time(), text.rstrip())
        lines.append(line)
        try:
            heard(line)
        except Exception as error:
            lines.append(Line(time.time(), f"{type(error).__name__}: {error}"))
            process.terminate()


def _environment() -> dict[str, str]:
    """This process's, with the packages of this working copy first."""
    ours = [str(ROOT / "src"), str(ROOT / "benchmarks")]
    path = os.pathsep.join([*ours, *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "PYTHONPATH": path}
