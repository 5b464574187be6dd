"""A folder of results. Every file is written beside its final name and then renamed: a folder never
holds half a file.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from motet.domain.errors import BadInput, JobFailed
from motet.report.rendering.json_text import to_json


class Folder:
    """`--out DIR`, checked for being writable when it is opened."""

    def __init__(self, path: Path) -> None:
        """Make the folder if it is missing. Raises BadInput when files cannot be made in it."""
        self.path = path
        try:
            path.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=path).close()
        except OSError as error:
            raise BadInput(
                f"--out {path}: cannot write there ({error.strerror}); "
                "name a folder that you may write to"
            ) from error

    def write_json(self, name: str, document: object) -> None:
        """A JSON file."""
        self.write_text(name, to_json(document))

    def write_text(self, name: str, text: str) -> None:
        """A text file in UTF-8."""
        self.write(name, lambda path: path.write_text(text, encoding="utf-8"))

    def write(self, name: str, write: Callable[[Path], object]) -> None:
        """A file that `write` makes at the path it is given. Raises JobFailed: the disk is full."""
        # The suffix stays last: numpy and matplotlib choose or extend names by it.
        partial = self.path / f".partial-{os.getpid()}-{name}"
        try:
            write(partial)
            partial.replace(self.path / name)
        except OSError as error:
            raise JobFailed(
                f"{self.path / name}: cannot be written ({error.strerror or error}); "
                "free some space and run again"
            ) from error
        finally:
            partial.unlink(missing_ok=True)
