"""The command of the launcher. The server imports this module, which imports nothing of Ray."""

from __future__ import annotations

import sys
from pathlib import Path


def ray_launcher(address: str, folder: Path, lease_s: float) -> tuple[str, ...]:
    """The launcher of the Ray cluster at `address`. `folder`: state of the server.

    `lease_s`: how long processes run on without it. The last argument, the epoch, is the master's.
    """
    command = (sys.executable, "-m", "motet.interfaces.ray_launcher", address, str(folder))
    return (*command, str(lease_s))
