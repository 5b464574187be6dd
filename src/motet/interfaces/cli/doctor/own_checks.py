"""Checks of this installation and of the state folder."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from motet.interfaces.cli.doctor.finding import Finding
from motet.interfaces.ray_launcher.installed_versions import InstalledVersions
from motet.interfaces.server_address import TOKEN_FILE
from motet.live.upkeep.routine import LEAST_FREE_BYTES

SECRETS = (TOKEN_FILE, "ray-token", "webhook-secrets", "journal.db")
"""Of a state folder."""
_OTHERS = 0o077


def installation() -> Finding:
    """Versions of Motet, Python and Ray."""
    here = InstalledVersions.here()
    message = f"Motet {here.motet}, Python {here.python}, Ray {here.ray or 'not installed'}"
    return Finding("installation", "ok", message)


def state_folder(home: Path) -> Iterator[Finding]:
    """Who can read the folder and its secrets, and how much room is left."""
    if not home.exists():
        message = f"{home} does not exist: no server has run here, or --state-dir is another one"
        yield Finding("state folder", "warning", message)
        return
    yield from _open_to_others(home)
    free = shutil.disk_usage(home).free
    if free < LEAST_FREE_BYTES:
        message = f"{home}: {free / 1e6:,.0f} MB are free; the journal needs room, free some space"
        yield Finding("disk", "wrong" if free < LEAST_FREE_BYTES / 10 else "warning", message)
    else:
        yield Finding("disk", "ok", f"{home}: {free / 1e9:,.1f} GB are free")


def _open_to_others(home: Path) -> Iterator[Finding]:
    troubles = 0
    for path in (home, *(home / name for name in SECRETS)):
        try:
            found = path.stat()
        except OSError:  # Absent, or in a folder of another user, which is told.
            continue
        mode = "700" if stat.S_ISDIR(found.st_mode) else "600"
        message = ""
        if found.st_uid != os.geteuid():
            message = f"{path}: belongs to another user; run as that user, or give --state-dir"
        elif stat.S_IMODE(found.st_mode) & _OTHERS:
            message = f"{path}: other users can read it; chmod {mode} {path}"
        if message:
            troubles += 1
            yield Finding("state folder", "wrong", message)
    if not troubles:
        yield Finding("state folder", "ok", f"{home}: it and its secrets are closed to others")
