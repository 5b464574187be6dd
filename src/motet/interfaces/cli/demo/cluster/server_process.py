"""The server of `motet demo`: `motet server` as a process of the command."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread

from motet.domain.errors import JobFailed
from motet.interfaces.client import LiveClient
from motet.interfaces.server_address import ADDRESS_FILE, TOKEN_FILE, ServerAddress

_LEASE_S = 5
"""Jobs of a demo that was killed end after so many seconds."""
_END_S = 20.0


@contextmanager
def demo_server(
    folder: Path, cluster: str, policy: str, settings: Mapping[str, str]
) -> Iterator[LiveClient]:
    """A server with its state in `folder`, until the context ends, and a client of it.

    Raises JobFailed with the server's last lines if it does not start.
    """
    words = [
        "server",
        "--cluster",
        cluster,
        "--gpus",
        "none",
        "--policy",
        policy,
        "--state-dir",
        str(folder),
    ]
    words += [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "motet.interfaces.cli", *words, "--lease", str(_LEASE_S)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        _await_first_lines(process)
        # Else a server that prints more than the pipe holds would stop.
        Thread(target=_read_to_end, args=(process,), name="server-stderr", daemon=True).start()
        with LiveClient(_own_address(folder)) as client:
            yield client
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(_END_S)
        process.kill()


def _own_address(folder: Path) -> ServerAddress:
    """Of the server of this folder, with its token: MOTET_TOKEN may be for another one."""
    url = json.loads((folder / ADDRESS_FILE).read_text())["url"]
    return ServerAddress.given(url, (folder / TOKEN_FILE).read_text().strip())


def _await_first_lines(process: subprocess.Popen[str]) -> None:
    """Return when the server says what to do next, which is its last line at the start."""
    assert process.stderr is not None
    seen = []
    for line in process.stderr:
        if line.startswith("next"):
            return
        seen.append(line)
    raise JobFailed(f"the server of the demo did not start: {''.join(seen).strip()}")


def _read_to_end(process: subprocess.Popen[str]) -> None:
    assert process.stderr is not None
    for _ in process.stderr:
        pass
