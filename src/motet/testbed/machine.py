"""Access to the underlying machine: the only module that runs commands and kills processes."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from motet.domain.errors import BadInput, MotetError
from motet.testbed.cgroups import ControlGroups, FileWrite, find_control_groups

NAMESPACES = Path("/run/netns")
PROCESSES = Path("/proc")
TOOLS = ("ip", "tc")
COMMAND_TIMEOUT_S = 60.0
KILL_TIMEOUT_S = 20.0
_PAUSE_S = 0.02
# "Busy": a control group that has processes, such as a container's own, cannot have children.
_SIGNS_OF_A_CONTAINER = ("not permitted", "permission denied", "read-only", "resource busy")


def require_testbed_machine() -> ControlGroups:
    """Return this machine's control groups. Raises BadInput if it cannot run a testbed."""
    if sys.platform != "linux":
        raise BadInput(f"a testbed needs Linux, this is {sys.platform}; run it in a Linux machine")
    if os.geteuid() != 0:
        raise BadInput(
            "a testbed needs root, for network namespaces and control groups; run it with sudo"
        )
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        raise BadInput(
            f"a testbed needs the program(s) {' and '.join(missing)}; install them with "
            "'apt-get install iproute2' or the like"
        )
    return find_control_groups((PROCESSES / "mounts").read_text(encoding="utf-8"))


def run_command(command: Sequence[str]) -> str:
    """Run a command and return its output. Raises MotetError with its error output.

    The command inherits the lock of the testbed (`motet.testbed.state.locked`): if this process is
    killed, the testbed stays locked until the command has ended.
    """
    try:
        with _delayed_interrupt():
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                check=False,
                timeout=COMMAND_TIMEOUT_S,
                close_fds=False,
            )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MotetError(f"'{' '.join(command)}' cannot be run: {error}") from error
    if done.returncode:
        reason = " ".join(done.stderr.split()) or f"exit status {done.returncode}"
        raise MotetError(f"'{' '.join(command)}' failed: {reason}{_remedy(reason)}")
    return done.stdout


def start_process(
    command: Sequence[str], environment: Mapping[str, str], log_file: Path
) -> subprocess.Popen[bytes]:
    """Start a command in a new session, so that it gets no signals from the terminal."""
    with log_file.open("ab") as log, _delayed_interrupt():
        return subprocess.Popen(
            command,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def write_control_files(writes: Iterable[FileWrite]) -> None:
    """Write to control files, in order. Raises MotetError."""
    for it in writes:
        try:
            it.path.write_text(it.text, encoding="ascii")
        except OSError as error:
            reason = error.strerror or str(error)
            raise MotetError(
                f"{it.path}: {it.text!r} cannot be written: {reason}{_remedy(reason)}"
            ) from error


def make_folders(folders: Iterable[Path]) -> None:
    """Create the folders that do not exist. Raises MotetError."""
    for folder in folders:
        try:
            folder.mkdir(exist_ok=True)
        except OSError as error:
            reason = error.strerror or str(error)
            raise MotetError(f"{folder}: cannot be created: {reason}{_remedy(reason)}") from error


def remove_groups(folders: Iterable[Path]) -> None:
    """Remove control groups whose processes have ended, as soon as the kernel permits."""
    deadline_s = time.monotonic() + KILL_TIMEOUT_S
    for folder in folders:
        while folder.is_dir():
            try:
                folder.rmdir()
            except OSError as error:
                if time.monotonic() > deadline_s:
                    raise MotetError(f"{folder}: cannot be removed: {error.strerror}") from error
                time.sleep(_PAUSE_S)


def namespaces() -> list[str]:
    """Return the names of all named network namespaces."""
    return [path.name for path in NAMESPACES.iterdir()] if NAMESPACES.is_dir() else []


def members(files: Iterable[Path]) -> set[int]:
    """Return the processes of control groups; a removed group has none."""
    found: set[int] = set()
    for file in files:
        with contextlib.suppress(OSError):
            found.update(map(int, file.read_text(encoding="ascii").split()))
    return found - {0}


def processes_in(labels: Iterable[str]) -> set[int]:
    """Return the processes in these network namespaces, of any control group."""
    wanted = {_identity(NAMESPACES / label) for label in labels} - {None}
    if not wanted:
        return set()
    numbers = [int(folder.name) for folder in PROCESSES.iterdir() if folder.name.isdigit()]
    return {it for it in numbers if _identity(PROCESSES / str(it) / "ns" / "net") in wanted}


def kill_processes(files: Sequence[Path], labels: Sequence[str]) -> int:
    """Kill all processes of these control groups and namespaces; return how many there were.

    Raises MotetError if a process remains.
    """
    killed: set[int] = set()
    deadline_s = time.monotonic() + KILL_TIMEOUT_S
    while living := (members(files) | processes_in(labels)) - {os.getpid()}:
        if time.monotonic() > deadline_s:
            raise MotetError(f"process(es) {sorted(living)} do not end; try again later")
        for number in living:
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        killed |= living
        time.sleep(_PAUSE_S)
    return len(killed)


def program_of(process: int) -> str:
    """Return the name of a process's program; empty if it has ended."""
    try:
        return (PROCESSES / str(process) / "comm").read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def arguments_of(process: int) -> list[str]:
    """Return the command line of a process; empty if it has ended."""
    try:
        line = (PROCESSES / str(process) / "cmdline").read_bytes()
    except OSError:
        return []
    return line.decode(errors="replace").split("\0")


def number_in(file: Path) -> int:
    """Return the number in a control file; 0 if there is none."""
    try:
        return int(file.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return 0


@contextlib.contextmanager
def _delayed_interrupt() -> Iterator[None]:
    """Delay Ctrl-C until after the block: an interrupted command might leave things behind."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    received: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: received.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if received:
        raise KeyboardInterrupt


def _identity(file: Path) -> tuple[int, int] | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _remedy(reason: str) -> str:
    """Return a hint for containers whose root user lacks the privileges for a testbed."""
    lowered = reason.lower()
    if any(sign in lowered for sign in _SIGNS_OF_A_CONTAINER):
        return "; in a container, run it with --privileged --cgroupns=host"
    return ""
