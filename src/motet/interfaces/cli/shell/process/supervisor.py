"""Ctrl-C at any time: exit code 130, no traceback, no process and no file in /tmp left.

A KeyboardInterrupt is unreliable inside an import, the start of Ray or a compiled kernel. So a
command that starts processes runs in a child of a supervisor, which only waits: it can handle a
signal at any time, by killing the child and all descendants of the child.

The supervisor is a process of its own below the user's, so that one of the two is left to remove
all descendants when the other one is killed with SIGKILL.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from motet.domain.errors import ExitCode, signal_exit_code
from motet.interfaces.cli.shell.process.interruption import carry_out_interruption
from motet.interfaces.cli.shell.process.scratch import make_scratch
from motet.live.process_table import has_children

if TYPE_CHECKING:
    import psutil

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SHOW_CURSOR = "\x1b[?25h"
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
KILL_ROUND_S, TRACKERS_END_S = 0.1, 2.0


def leave_on_signals() -> None:
    """Exit on a signal until a command starts: there is nothing to clean up yet."""
    for number in _handled_signals():
        signal.signal(number, lambda number, _: os._exit(signal_exit_code(number)))


def run_supervised(command: Callable[[], int]) -> int:
    """Run `command` in a child of a supervisor, with a scratch folder as TMPDIR; its exit code.

    Afterwards, after a signal, and after a SIGKILL of this process, of the supervisor or of the
    child, all descendants have ended and the scratch folder is removed.
    """
    # Signals are blocked until every process has installed its handlers.
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    scratch = make_scratch()
    supervisor = _fork(lambda: _supervise(command, scratch), ends_with_parent_by=signal.SIGINT)

    def forward(number: int, frame: object) -> None:
        del frame
        with contextlib.suppress(ProcessLookupError):
            os.kill(supervisor, number)

    _handle_signals(forward)
    return _end_of(supervisor, scratch)


def _supervise(command: Callable[[], int], scratch: Path) -> int:
    child = _fork(lambda: _run(command, scratch), ends_with_parent_by=signal.SIGKILL)

    def interrupt(number: int, frame: object) -> NoReturn:
        del frame
        _handle_signals(signal.SIG_IGN)
        with contextlib.suppress(ProcessLookupError):  # the child has just ended
            os.kill(child, signal.SIGKILL)
        _interrupt(scratch, number)

    _handle_signals(interrupt)
    return _end_of(child, scratch)


def _run(command: Callable[[], int], scratch: Path) -> int:
    """Signals are for the supervisor to handle; SIGTERM to this process alone ends it."""
    if signal.SIGTERM in _handled_signals():
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _handle_signals(signal.SIG_IGN, signal.SIGINT, signal.SIGHUP)
    os.environ["TMPDIR"] = str(scratch)
    tempfile.tempdir = None
    code = command()
    sys.stdout.flush()
    sys.stderr.flush()
    return code


def _fork(main: Callable[[], int], ends_with_parent_by: signal.Signals) -> int:
    """Start a process that exits with the result of `main`; returns its process id.

    This process adopts descendants whose parent ends; the new one gets the signal when this one
    ends.
    """
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    parent, child = os.getpid(), os.fork()
    if child:
        return child
    _prctl(PR_SET_PDEATHSIG, ends_with_parent_by)
    if os.getppid() != parent:
        os._exit(ExitCode.HUNG_UP)
    os._exit(main())


def _end_of(child: int, scratch: Path) -> int:
    """Wait for a child and remove what it left; returns its exit code, 1 after a signal.

    SIGTERM to the child is an interruption, as if this process had received it.
    """
    _, status = os.waitpid(child, 0)
    _handle_signals(signal.SIG_IGN)
    code = os.waitstatus_to_exitcode(status)
    if code == -signal.SIGTERM:
        _interrupt(scratch, signal.SIGTERM)
    _kill_descendants()
    hint = carry_out_interruption(scratch) if code < 0 else ""
    _remove(scratch)
    if code < 0:
        told = f"motet: error: stopped by {signal.Signals(-code).name}"
        _write_stderr("\n".join([told, *([hint] if hint else [])]))
        return ExitCode.FAILED
    return code


def _interrupt(scratch: Path, number: int) -> NoReturn:
    """Kill all descendants, leave what the command prepared, and exit."""
    _kill_descendants()
    hint = carry_out_interruption(scratch)
    _remove(scratch)
    lines = "\n".join(["motet: interrupted", *([hint] if hint else [])])
    _write_stderr(f"{SHOW_CURSOR if sys.stderr.isatty() else ''}\n{lines}")
    os._exit(signal_exit_code(number))


def _remove(scratch: Path) -> None:
    shutil.rmtree(scratch, ignore_errors=True)


def _handle_signals(
    handler: Callable[[int, object], object] | signal.Handlers, *numbers: signal.Signals
) -> None:
    """`numbers`: all where none is given."""
    for number in _handled_signals():
        if not numbers or number in numbers:
            signal.signal(number, handler)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)


def _handled_signals() -> list[signal.Signals]:
    """Signals that were not ignored when this process started (`nohup` ignores SIGHUP)."""
    ignored = {n for n in SIGNALS if signal.getsignal(n) is signal.SIG_IGN}
    return [n for n in SIGNALS if n not in ignored or n == signal.SIGINT]


def _kill_descendants() -> None:
    """Kill all descendants of this process and wait for their ends.

    Resource trackers of multiprocessing are killed last: once the others have ended, they remove
    the semaphores of those from /dev/shm and end by themselves.
    """
    if sys.platform == "linux" and not has_children():
        return  # A descendant whose parent has ended would be a child, see run_supervised.
    import psutil

    _kill_all(lambda process: not _is_resource_tracker(process))
    psutil.wait_procs(psutil.Process().children(recursive=True), timeout=TRACKERS_END_S)
    _kill_all(lambda process: True)


def _is_resource_tracker(process: psutil.Process) -> bool:
    import psutil

    try:
        return any("multiprocessing.resource_tracker" in word for word in process.cmdline())
    except psutil.Error:
        return False


def _kill_all(is_chosen: Callable[[psutil.Process], bool]) -> None:
    import psutil

    def living() -> list[psutil.Process]:
        return [each for each in psutil.Process().children(recursive=True) if is_chosen(each)]

    while descendants := living():
        for process in descendants:
            try:
                process.kill()
            except psutil.NoSuchProcess:
                continue
        psutil.wait_procs(descendants, timeout=KILL_ROUND_S)


def _prctl(option: int, value: int) -> None:
    """Call prctl on Linux: adopt orphaned descendants, or end with the parent."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _write_stderr(text: str) -> None:
    with contextlib.suppress(OSError):  # stderr is closed or full
        os.write(2, f"{text}\n".encode())
