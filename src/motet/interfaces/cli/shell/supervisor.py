"""Ctrl-C at any moment: exit code 130, no traceback, nothing left running, no file left in /tmp.

A KeyboardInterrupt would arrive wherever Python happens to be (inside an import, Ray's start-up, a
compiled kernel that runs for a minute), and each of these spoils it in its own way. So a command
that starts processes runs in a child of this process, which itself does nothing but wait: it can
always answer a signal, by killing the child and then all that the child has started.
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
from typing import NoReturn

from motet.interfaces.cli.shell.scratch import make_scratch

INTERRUPTED = 130
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SHOW_CURSOR = "\x1b[?25h"
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
KILL_ROUND_S = 0.1


def leave_on_signals() -> None:
    """Until a command starts: a signal ends this process, which has nothing to clean up."""
    for number in _heeded():
        signal.signal(number, lambda *_: os._exit(INTERRUPTED))


def run_supervised(command: Callable[[], int]) -> int:
    """Run `command` in a child process, with a scratch folder as TMPDIR; returns its exit code.

    Afterwards, and when a signal comes, no descendant is left and the scratch folder is gone.
    """
    # A signal that comes between here and the handlers waits until both sides are ready.
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    scratch = make_scratch()
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    parent, child = os.getpid(), os.fork()
    if child == 0:
        _be_the_child(command, scratch, parent)
    supervisor = _Supervisor(child, scratch)
    _handle_signals(supervisor.interrupt)
    return supervisor.wait()


class _Supervisor:
    """The waiting parent."""

    def __init__(self, child: int, scratch: Path) -> None:
        self._child, self._scratch = child, scratch

    def wait(self) -> int:
        """The child's exit code, once nothing of it is left."""
        _, status = os.waitpid(self._child, 0)
        _handle_signals(signal.SIG_IGN)
        self._clean_up()
        code = os.waitstatus_to_exitcode(status)
        if code < 0:
            _say(f"motet: error: stopped by {signal.Signals(-code).name}")
            return 1
        return code

    def interrupt(self, number: int, frame: object) -> NoReturn:
        """Kill everything and leave."""
        _handle_signals(signal.SIG_IGN)
        with contextlib.suppress(ProcessLookupError):  # it has just ended by itself
            os.kill(self._child, signal.SIGKILL)
        self._clean_up()
        _say(f"{SHOW_CURSOR if sys.stderr.isatty() else ''}\nmotet: interrupted")
        os._exit(INTERRUPTED)

    def _clean_up(self) -> None:
        _kill_descendants()
        shutil.rmtree(self._scratch, ignore_errors=True)


def _be_the_child(command: Callable[[], int], scratch: Path, parent: int) -> NoReturn:
    """Signals are the parent's business; if it is killed, this process dies with it."""
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(INTERRUPTED)
    _handle_signals(signal.SIG_IGN)
    os.environ["TMPDIR"] = str(scratch)
    tempfile.tempdir = None
    code = command()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _handle_signals(handler: Callable[[int, object], NoReturn] | signal.Handlers) -> None:
    for number in _heeded():
        signal.signal(number, handler)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)


def _heeded() -> list[signal.Signals]:
    """The signals that whoever started this process did not have ignored (`nohup` does)."""
    ignored = {n for n in SIGNALS if signal.getsignal(n) is signal.SIG_IGN}
    return [n for n in SIGNALS if n not in ignored or n == signal.SIGINT]


def _kill_descendants() -> None:
    """Kill every process that descends from this one, and wait until none is left."""
    import psutil

    while descendants := psutil.Process().children(recursive=True):
        for process in descendants:
            try:
                process.kill()
            except psutil.NoSuchProcess:
                continue
        psutil.wait_procs(descendants, timeout=KILL_ROUND_S)


def _prctl(option: int, value: int) -> None:
    """Linux only: adopt orphaned descendants, or die with the parent; elsewhere nothing."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _say(text: str) -> None:
    os.write(2, f"{text}\n".encode())
