"""Names of snapshots."""

from __future__ import annotations

from pathlib import Path

DIGEST = "^[0-9a-f]{64}$"
"""The SHA-256 of an archive."""


def archive_path(folder: Path, digest: str) -> Path:
    """Where the archive of a snapshot is. `folder`: of all archives."""
    return folder / f"{digest}.tar"
