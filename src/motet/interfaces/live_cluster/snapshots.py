"""Sending the snapshot of a working folder before its job is submitted."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

from motet.interfaces.client import LiveClient
from motet.live.workdirs.archive import Archive, write_archive


def with_snapshot(
    live: LiveClient, values: Mapping[str, Any], on_sending: Callable[[Archive], None]
) -> dict[str, Any]:
    """The values of a job; `snapshot: true` becomes the name of an archive that the server has.

    `on_sending`: called before it is sent, not if the server has it already. Raises BadInput.
    """
    if values.get("snapshot") is not True:
        return dict(values)
    with tempfile.TemporaryFile() as file:
        archive = write_archive(Path(values["workdir"]), file)
        if not live.has_snapshot(archive.digest):
            on_sending(archive)
            _send(live, archive, file)
    return {**values, "snapshot": archive.digest}


def _send(live: LiveClient, archive: Archive, file: IO[bytes]) -> None:
    file.seek(0)
    live.send_snapshot(archive.digest, file, archive.size)
