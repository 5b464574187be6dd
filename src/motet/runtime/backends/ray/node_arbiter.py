"""The arbiter of a Ray node that trainings of several drivers share."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

from motet.domain.errors import BadInput
from motet.runtime.executor.shared_machine import SharedMachine


def on_node(node: str, job: str, folder: Path | None = None) -> SharedMachine:
    """`node`: id of the Ray node of this process. `folder`: of this user's arbiters on this host.

    As many COMPs run at a time as this process may use CPUs: a COMP uses one. Raises BadInput if
    other users can write there.
    """
    place = folder or Path(tempfile.gettempdir()) / f"motet-{os.getuid()}"
    place.mkdir(mode=0o700, exist_ok=True)
    found = place.lstat()
    if found.st_uid != os.getuid() or not stat.S_ISDIR(found.st_mode) or found.st_mode & 0o077:
        raise BadInput(
            f"{place}: other users may have put files there, and trainings meet there; delete it"
        )
    return SharedMachine(place / f"arbiter-{node}", job, len(os.sched_getaffinity(0)))
