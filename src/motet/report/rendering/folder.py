"""A folder of results. Every file is written under a temporary name and then renamed, so that a
folder never contains an incomplete file.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from motet.domain.errors import BadInput, JobFailed, remedy_of_write
from motet.report.rendering.json_text import to_json


class Folder:
    """The folder of `--out DIR`."""

    after_remedy = "run again"
    """What to do once files can be written again."""

    def __init__(self, path: Path) -> None:
        """Create the folder if it is missing. Raises BadInput if files cannot be created in it."""
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
        """Write a JSON file."""
        self.write_text(name, to_json(document))

    def write_text(self, name: str, text: str) -> None:
        """Write a text file in UTF-8."""
        self.write(name, lambda path: path.write_text(text, encoding="utf-8"))

    def write(self, name: str, write: Callable[[Path], object]) -> None:
        """Write a file by calling `write` with a path. Raises JobFailed if that fails."""
        # The suffix stays last: numpy and matplotlib choose the format, or extend the name, by it.
        partial = self.path / f".partial-{os.getpid()}-{name}"
        try:
            write(partial)
            partial.replace(self.path / name)
        except OSError as error:
            raise JobFailed(
                f"{self.path / name}: cannot be written ({error.strerror or error}); "
                f"{remedy_of_write(error)} and {self.after_remedy}"
            ) from error
        finally:
            partial.unlink(missing_ok=True)
