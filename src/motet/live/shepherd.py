"""Shepherd: runs one process of an attempt, and records its end.

A process that its launcher's spawner has forked (`motet.live.spawner`) runs it, with the folder of
the process. It outlives master, launcher, spawner and Ray, and needs only the standard library. It
imports little, because the first shepherd of a launcher waits for it. Files in the folder:

- `task.json`: what to run (written by the launcher before the shepherd starts)
- `shepherd.json`: the shepherd's identity; its creation claims the folder, so that a process of
  an attempt is started at most once
- `control.json`: what the launcher wants: phase `hold`, `run` or `stop`, and variables that are
  known once all processes of the attempt are held; read on SIGUSR1
- `started.json`: the process has been started
- `log`: output of the process
- `exit.json`: how it ended; no process of it is left when this file appears

The shepherd is a session leader and adopts orphans of its process (child subreaper), so it finds
all of them. The kernel kills the process when the shepherd is killed. A control renews the
shepherd's lease; when the lease ends, for instance because its machine has been separated from the
cluster, the shepherd stops the process. A lease is counted from a time that the launcher names, on
this machine's clock, so that a control which arrives late prolongs nothing. Controls of an earlier
master (a smaller epoch) are ignored.
"""

import contextlib
import ctypes
import functools
import json
import os
import signal
import socket
import subprocess
import time

from motet.live.process_table import (
    boot_id,
    descendants,
    ended_child,
    has_children,
    start_ticks,
)

AnyPath = str | os.PathLike[str]
SIGNALS = {signal.SIGCHLD, signal.SIGUSR1, signal.SIGTERM}
_PARENT_DEATH_SIGNAL, _CHILD_SUBREAPER = 1, 36
_RETRY_KILL_S = 0.2
_RETRY_NOTICE_S, _LONGEST_RETRY_NOTICE_S = 0.02, 5.0
_SHUTDOWN_GRACE_S = 5.0
_OOM_SCORE = "500"
_LIBRARY = ctypes.CDLL(None, use_errno=True)


class Shepherd:
    """One process from its start to its exit record."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.task = json.loads(_read(self._path("task.json")))
        self.epoch = int(self.task["epoch"])
        self.phase = "hold"
        self.env: dict[str, str] = dict(self.task["env"])
        self.child: subprocess.Popen[bytes] | None = None
        self.reason = "exited"
        self.started_at: float | None = None
        self.lease_ends = self.task["as_of_s"] + self.task["lease_s"]
        self.kill_at: float | None = None
        self.untold: str | None = None
        self.tell_at, self.retry_s = float("inf"), _RETRY_NOTICE_S

    def run(self) -> None:
        """Wait for the phase `run`, run the process, write the exit record."""
        if not self._claim():
            return
        self._tell("held")
        while self.phase == "hold":
            self._await_signal()
        if self.phase == "run" and not self._start():
            return
        while self.child is not None and self.child.returncode is None:
            self._await_signal()
        self._kill_descendants()
        self._tell_out_of_memory()
        self._record_exit()

    # -- phases ------------------------------------------------------------------------------------

    def _claim(self) -> bool:
        """Whether this shepherd is the first one of its folder."""
        own = {"pid": os.getpid(), "start_ticks": start_ticks(os.getpid()), "boot": boot_id()}
        return claim_folder(self.folder, own)

    def _start(self) -> bool:
        """Start the process; a command that cannot be executed is recorded as an end."""
        task, group = self.task, self.task.get("memory")
        self.started_at = time.time()
        log = os.open(self._path("log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            self.child = subprocess.Popen(
                task["argv"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=task["cwd"],
                env=self.env,
                start_new_session=True,
                preexec_fn=functools.partial(_prepare_child, group and group["procs"]),
            )
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            line, code = _not_started(error, task["argv"][0], task["cwd"])
            os.write(log, line.encode(errors="backslashreplace"))
            self._record(code, None)
            return False
        finally:
            os.close(log)
        write_durably(self._path("started.json"), {"pid": self.child.pid, "at": self.started_at})
        self._tell("started")
        return True

    def _await_signal(self) -> None:
        """Handle one signal, or a deadline: of the lease, the grace period or a notice."""
        deadlines = [self.lease_ends, self.tell_at]
        deadlines += [] if self.kill_at is None else [self.kill_at]
        left_s = max(0.0, min(deadlines) - time.monotonic())
        received = signal.sigtimedwait(SIGNALS, left_s)
        if received is None:
            self._deadline_passed()
        elif received.si_signo == signal.SIGUSR1:
            self._read_control()
        elif received.si_signo == signal.SIGTERM:
            self._stop("stopped", signal.SIGTERM, _SHUTDOWN_GRACE_S)
        else:
            self._reap()

    def _deadline_passed(self) -> None:
        now = time.monotonic()
        if self.untold is not None and now >= self.tell_at:
            self._tell(self.untold)
        if self.kill_at is not None and now >= self.kill_at:
            self._kill_descendants()
            self.kill_at = None
        if now >= self.lease_ends:
            self.lease_ends = float("inf")
            stop = self.task["stop"]
            self._stop("lease", stop["signal"], stop["grace_s"])

    def _read_control(self) -> None:
        control = json.loads(_read(self._path("control.json")))
        if control["epoch"] < self.epoch:
            return
        self.epoch = control["epoch"]
        if self.phase != "stop":
            self.lease_ends = control["as_of_s"] + self.task["lease_s"]
        if control["phase"] == "stop":
            self._stop("stopped", control["signal"], control["grace_s"])
        elif self.phase == "hold":
            self.phase = control["phase"]
            self.env |= control.get("env", {})

    def _stop(self, reason: str, number: int, grace_s: float) -> None:
        """Ask the process to end; after the grace period it is killed."""
        if self.phase == "stop":
            return
        self.phase = "stop"
        if self.child is None:
            self.reason = "never_started"
            return
        if self._reap():
            return
        self.reason = reason
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.child.pid, number)
        self.kill_at = time.monotonic() + grace_s

    # -- ends --------------------------------------------------------------------------------------

    def _reap(self) -> bool:
        """Collect ended processes; returns whether the process itself has ended."""
        assert self.child is not None
        while (pid := ended_child()) is not None:
            if pid == self.child.pid:
                self.child.poll()
            else:
                os.waitpid(pid, 0)
        return self.child.returncode is not None

    def _kill_descendants(self) -> None:
        """Kill all processes below the shepherd and wait for their ends."""
        while has_children() and (pids := descendants(os.getpid())):
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            signal.sigtimedwait({signal.SIGCHLD}, _RETRY_KILL_S)
            self._reap()

    def _tell_out_of_memory(self) -> None:
        """Say in the log that a process was killed because of its memory limit."""
        group = self.task.get("memory")
        if group is None or self.child is None or not _kills_of(group["events"]):
            return
        limit = f"{group['limit_bytes'] / 1e6:,.0f} MB"
        with open(self._path("log"), "ab") as log:
            log.write(f"motet: out of memory: the process reached its limit, {limit}\n".encode())

    def _record_exit(self) -> None:
        status = None if self.child is None else self.child.returncode
        if status is None or status >= 0:
            self._record(status, None)
        else:
            self._record(None, -status)

    def _record(self, code: int | None, number: int | None) -> None:
        """Write the exit record. `number`: of the signal that ended the process."""
        record = {
            "code": code,
            "signal": number,
            "reason": self.reason,
            "started_at": self.started_at,
            "ended_at": time.time(),
        }
        write_durably(self._path("exit.json"), record)
        self._tell("ended")

    def _tell(self, state: str) -> None:
        """Wake the launcher; without one, the next launcher finds the files.

        Its socket has a queue of ten datagrams (unix(7)): while it is full, that of a gang with
        more processes, this is tried again.
        """
        message = json.dumps([self.task["attempt"], self.task["rank"], state]).encode()
        self.untold, self.tell_at = None, float("inf")
        try:
            send_datagram(self.task["notify"], message)
        except BlockingIOError:
            self.untold, self.tell_at = state, time.monotonic() + self.retry_s
            self.retry_s = min(2 * self.retry_s, _LONGEST_RETRY_NOTICE_S)
        except OSError:
            pass
        else:
            self.retry_s = _RETRY_NOTICE_S

    def _path(self, name: str) -> str:
        return os.path.join(self.folder, name)


def _not_started(error: Exception, command: str, folder: str) -> tuple[str, int]:
    """The line for the log and the exit status of a command that cannot be executed: 1 where its
    folder cannot be entered, otherwise that of a shell."""
    reason = getattr(error, "strerror", None) or error
    if getattr(error, "filename", None) == folder:
        return f"motet: workdir {folder}: {reason}\n", 1
    missing = isinstance(error, FileNotFoundError)
    return f"motet: {command}: {reason}\n", 127 if missing else 126


def _prepare_child(memory_group: str | None) -> None:
    """Between fork and exec: die with the shepherd, receive signals, join the memory group, whose
    file of processes is given.

    If the machine runs out of memory, the kernel kills processes of jobs rather than others.
    """
    _prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    with contextlib.suppress(OSError):
        _write("/proc/self/oom_score_adj", _OOM_SCORE)
    if memory_group is not None:
        _write(memory_group, str(os.getpid()))


def _kills_of(events: str) -> int:
    """Processes of a group that the kernel has killed because of its limit."""
    try:
        lines = _read(events).splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("oom_kill "))


def _prctl(option: int, value: int) -> None:
    if _LIBRARY.prctl(option, value, 0, 0, 0):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def send_datagram(address: AnyPath, message: bytes) -> None:
    """Send to a Unix socket; its path may be longer than the 108 bytes of a socket address."""
    folder, name = os.path.split(address)
    directory = os.open(folder, os.O_PATH | os.O_DIRECTORY)
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK) as sender:
            sender.sendto(message, f"/proc/self/fd/{directory}/{name}")
    finally:
        os.close(directory)


def claim_folder(folder: AnyPath, identity: object) -> bool:
    """Whether this is the first identity that claims the folder of a process."""
    temporary = os.path.join(folder, f".shepherd.{os.getpid()}")
    write_durably(temporary, identity)
    try:
        os.link(temporary, os.path.join(folder, "shepherd.json"))
    except FileExistsError:
        return False
    finally:
        os.unlink(temporary)
    return True


def write_durably(path: AnyPath, value: object) -> None:
    """Write JSON so that the file is either complete or absent, also after a power failure."""
    folder, name = os.path.split(path)
    temporary = os.path.join(folder, f".{name}.{os.getpid()}")
    with open(temporary, "w", encoding="utf-8", opener=_private) as file:
        file.write(json.dumps(value))  # `json.dump` encodes in Python.
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)


def _read(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def run_shepherd(folder: str) -> None:
    """Run the shepherd of a folder in this process."""
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    _prctl(_CHILD_SUBREAPER, 1)
    Shepherd(folder).run()
