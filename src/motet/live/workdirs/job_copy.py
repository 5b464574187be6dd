"""The copy of a snapshot in which a job runs."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from motet.live.workdirs.archive import unpack_archive


def make_copy(archive: Path, folder: Path) -> None:
    """Unpack the archive as `folder`, unless an attempt before has done so; all of it or nothing.

    Raises BadInput, OSError.
    """
    if folder.exists():
        return
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    prefix = f".{folder.name}-"
    for left in folder.parent.glob(f"{prefix}*"):  # By a launcher that was killed.
        shutil.rmtree(left, ignore_errors=True)
    partial = Path(tempfile.mkdtemp(prefix=prefix, dir=folder.parent))
    try:
        unpack_archive(archive, partial)
        os.sync()  # Else a crash of the machine could leave a copy with empty files.
        partial.rename(folder)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
