"""`python -m motet.interfaces.ray_launcher ADDRESS FOLDER LEASE EPOCH`: see the package.

It ends with its input, or when Ray can no longer be reached; the master starts the next one.
"""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import os
import secrets
import sys
from pathlib import Path
from typing import Any

from motet.domain.errors import MotetError
from motet.interfaces.ray_launcher.connection import connected
from motet.interfaces.ray_launcher.launcher import RayLauncher
from motet.interfaces.ray_launcher.machine_link import LinkOptions
from motet.interfaces.ray_launcher.supervisor import PROBED
from motet.interfaces.ray_nodes.node_process import remedy_of_ended_head
from motet.live.launcher.line_program import serve_lines
from motet.live.launcher.message_lines import message_line
from motet.live.launcher.messages import (
    ClusterSeen,
    LauncherRequest,
    MachineExamined,
    Report,
    parse_message,
)
from motet.runtime.controller.ports import ClusterLost

_RETRY_S = 1.0
_PROBE = "ray-probe"


class RayLauncherProgram:
    """Connects requests and reports of the master with the launcher, once there is one."""

    def __init__(self, address: str, folder: Path, lease_s: float, epoch: int) -> None:
        self._address, self._folder = address, folder
        self._options = LinkOptions(epoch, str(folder), _written_probe(folder), lease_s)
        # Libraries may print; only reports may go to the master.
        self._reports = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)
        self._early: list[LauncherRequest] = []
        self._launcher: RayLauncher | None = None
        self._refusal = ""

    async def run(self) -> None:
        """Returns at the end of the input."""
        serving = asyncio.ensure_future(serve_lines(self._received))
        launching = asyncio.ensure_future(self._launch())
        await asyncio.wait({serving, launching}, return_when=asyncio.FIRST_COMPLETED)
        if launching.done():
            launching.result()

    async def _launch(self) -> None:
        """Returns when Ray refuses or is lost."""
        namespace = "motet-" + hashlib.sha256(str(self._folder).encode()).hexdigest()[:16]
        try:
            connection = await connected(self._address, namespace, self._refused)
            self._launcher = RayLauncher(
                connection, self._options, self._report, self._report, _note
            )
            for request in self._early:
                self._launcher.received(request)
            await self._launcher.run()
        except (MotetError, ClusterLost) as error:
            await self._refused(str(error))
            await asyncio.sleep(_RETRY_S)

    def _received(self, line: str) -> None:
        request: Any = parse_message(line)
        if self._launcher is None:
            self._early.append(request)
        else:
            self._launcher.received(request)

    async def _refused(self, reason: str) -> None:
        # On a thread: a name server that does not answer holds up the lookup of the head's host.
        if remedy := await asyncio.to_thread(remedy_of_ended_head, self._folder, self._address):
            reason = f"{reason}; {remedy}"
        if reason != self._refusal:
            self._refusal = reason
            self._report(ClusterSeen((), reason))

    def _report(self, report: Report | MachineExamined) -> None:
        self._reports.write(message_line(report) + "\n")
        self._reports.flush()


def _written_probe(folder: Path) -> tuple[str, str]:
    """Files by which a machine proves that it sees the folders; replaced by every launcher.

    Returns the first one.
    """
    content = secrets.token_hex(16)
    for name in PROBED:
        (folder / name).mkdir(mode=0o700, exist_ok=True)
        temporary = folder / name / f".{_PROBE}.{os.getpid()}"
        temporary.write_text(content, encoding="utf-8")
        temporary.replace(folder / name / _PROBE)
    return str(folder / _PROBE), content


def _note(line: str) -> None:
    sys.stderr.write(f"motet: {line}\n")
    sys.stderr.flush()


def _lock(folder: Path) -> int:
    """Wait until the launcher before has ended: it may still grant leases."""
    descriptor = os.open(folder / "ray-launcher.lock", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    return descriptor


def run_ray_launcher() -> None:
    """Does not return: threads may wait for a Ray that is gone."""
    status = 1
    try:
        address, folder = sys.argv[1], Path(sys.argv[2])
        lock = _lock(folder)
        program = RayLauncherProgram(address, folder, float(sys.argv[3]), int(sys.argv[4]))
        asyncio.run(_until_end(program, lock))
        status = 0
    except BrokenPipeError:  # The server, which reads the reports, has ended.
        status = 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stderr.flush()
        os._exit(status)


async def _until_end(program: RayLauncherProgram, lock: int) -> None:
    """End the process at once when the program has ended."""
    await program.run()
    os.close(lock)
    os._exit(0)


if __name__ == "__main__":
    run_ray_launcher()
