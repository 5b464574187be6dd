"""What a command leaves behind when it is interrupted: files, and a line for the user.

The child prepares both while it works, in the scratch folder; the supervisor, which handles the
signals and outlives the child, carries them out.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

_NAME = "interruption.json"


@dataclass(frozen=True)
class Hint:
    """A line for the user. `unsaved`: the line instead if at the end nothing fits `saved`, a
    pattern of absolute paths; empty: there is no such case."""

    line: str
    saved: str = ""
    unsaved: str = ""

    def __str__(self) -> str:
        if not self.saved:
            return self.line
        pattern = Path(self.saved)
        return self.line if any(pattern.parent.glob(pattern.name)) else self.unsaved


def prepare_interruption(hint: Hint, files: Mapping[Path, str]) -> None:
    """From now on an interruption writes these contents to `files` and prints `hint`."""
    contents = {str(path.absolute()): content for path, content in files.items()}
    prepared = _place() / f"{_NAME}.new"
    prepared.write_text(json.dumps({"hint": asdict(hint), "files": contents}), encoding="utf-8")
    prepared.replace(_place() / _NAME)


def forget_interruption() -> None:
    """From now on an interruption leaves nothing: the results are about to be written."""
    (_place() / _NAME).unlink(missing_ok=True)


def carry_out_interruption(scratch: Path) -> str:
    """Write the files that were prepared, if any; returns the line for the user, else ''."""
    try:
        prepared = json.loads((scratch / _NAME).read_text(encoding="utf-8"))
        for name, content in prepared["files"].items():
            path = Path(name)
            new = path.with_name(f".{path.name}.{os.getpid()}")
            new.write_text(content, encoding="utf-8")
            new.replace(path)
        return str(Hint(**prepared["hint"]))
    # Nothing was prepared, or the folder is gone.
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return ""


def _place() -> Path:
    return Path(tempfile.gettempdir())
