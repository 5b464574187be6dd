"""Shepherds of this machine: spawned or adopted, instructed by signal, watched by pidfd."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from motet.live import shepherd
from motet.live.launcher.rank_files import Control, RankFiles, ShepherdIdentity

_SCRIPT = Path(shepherd.__file__)


@dataclass(frozen=True, slots=True)
class ShepherdProcess:
    """A living shepherd. `descriptor`: its pidfd, which becomes readable when it ends."""

    files: RankFiles
    descriptor: int

    def instruct(self, control: Control) -> None:
        """Hand over instructions and renew the lease."""
        self.files.write_control(control)
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.descriptor, signal.SIGUSR1)

    def close(self) -> None:
        """Release the pidfd."""
        os.close(self.descriptor)


def spawn(files: RankFiles) -> subprocess.Popen[bytes]:
    """Start a shepherd for a folder that has a task; it ends at once if the folder has one.

    Its environment is empty: variables of the server are not for jobs.
    """
    return subprocess.Popen(
        [sys.executable, "-I", "-S", str(_SCRIPT), str(files.folder)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=_error_file(files),
        env={},
        cwd="/",
        start_new_session=True,
    )


def attach_to_shepherd(files: RankFiles, identity: ShepherdIdentity) -> ShepherdProcess | None:
    """The living shepherd of a folder; None: it has ended."""
    if identity.boot != shepherd.boot_id():
        return None
    try:
        descriptor = os.pidfd_open(identity.pid)
    except ProcessLookupError:
        return None
    if shepherd.start_ticks(identity.pid) != identity.start_ticks:
        os.close(descriptor)
        return None
    return ShepherdProcess(files, descriptor)


def _error_file(files: RankFiles) -> int:
    """Receives errors of the shepherd itself; they have no other place to go."""
    return os.open(files.folder / "shepherd.err", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
