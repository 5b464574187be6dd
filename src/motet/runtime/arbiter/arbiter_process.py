"""Starts the arbiter of a machine as a process that outlives the job that needed it first."""

from __future__ import annotations

import argparse
import errno
import os
import socket
import subprocess
import sys
from pathlib import Path

from motet.runtime.arbiter.arbiter import run_arbiter
from motet.runtime.arbiter.socket_path import short_address
from motet.runtime.arbiter.token_table import Token, TokenTable

SUBTASK_LIMIT_S = 1.0
"""A subtask that takes longer no longer excludes others."""
_ENVIRONMENT = ("PATH", "PYTHONPATH", "PYTHONHOME", "PYTHONDONTWRITEBYTECODE")
"""No other variable of the job that needs the arbiter first: processes are found by these, and end
with their job."""


def ensure_arbiter(address: Path, cpus: int = 1, limit_s: float = SUBTASK_LIMIT_S) -> None:
    """Returns when an arbiter listens at `address`, a path in a private folder.

    `cpus`: how many COMPs run at a time; `limit_s`: see SUBTASK_LIMIT_S. Both are those of the
    first job. Raises OSError.
    """
    address.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if _listens(address):
        return
    read, write = os.pipe()
    try:
        command = (sys.executable, "-P", "-m", __name__, str(address), str(write))
        process = subprocess.Popen(
            [*command, f"--cpus={cpus}", f"--limit-s={limit_s}"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
            pass_fds=(write,),
            start_new_session=True,
        )
    finally:
        os.close(write)
    with open(read, "rb") as ready:
        ready.read()  # Nothing if another one runs already.
    process.wait()


def _listens(address: Path) -> bool:
    """Also if it is stopped and accepts no more connections, for which a connect would wait."""
    with (
        socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as tried,
        short_address(address) as place,
    ):
        tried.setblocking(False)
        return tried.connect_ex(place) in (0, errno.EAGAIN)


def _main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("address", type=Path)
    parser.add_argument("ready", type=int)
    parser.add_argument("--cpus", type=int, default=1)
    parser.add_argument("--limit-s", type=float, default=SUBTASK_LIMIT_S)
    given = parser.parse_args()
    if os.fork():  # The arbiter is no child of the job that started it.
        os._exit(0)
    counts = {Token.CPU: given.cpus, Token.NETWORK: 2}  # A primary and a secondary one.
    table = TokenTable(counts, round(given.limit_s * 1e6))
    run_arbiter(given.address, table, given.ready)


if __name__ == "__main__":
    _main()
