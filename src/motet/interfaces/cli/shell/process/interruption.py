"""What a command leaves behind when it is interrupted: a file, and a line for the user.

The child prepares both while it works, in the scratch folder; the supervisor, which handles the
signals and outlives the child, carries them out.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

_NAME = "interruption.json"


def prepare_interruption(hint: str, path: Path, content: str) -> None:
    """From now on an interruption writes `content` to `path` and prints `hint`."""
    prepared = _place() / f"{_NAME}.new"
    prepared.write_text(
        json.dumps({"hint": hint, "path": str(path.absolute()), "content": content}),
        encoding="utf-8",
    )
    prepared.replace(_place() / _NAME)


def forget_interruption() -> None:
    """From now on an interruption leaves nothing: the results are about to be written."""
    (_place() / _NAME).unlink(missing_ok=True)


def carry_out_interruption(scratch: Path) -> str:
    """Write the file that was prepared, if any; returns the line for the user, else ''."""
    try:
        prepared = json.loads((scratch / _NAME).read_text(encoding="utf-8"))
        path = Path(prepared["path"])
        new = path.with_name(f".{path.name}.{os.getpid()}")
        new.write_text(prepared["content"], encoding="utf-8")
        new.replace(path)
    except (OSError, ValueError, TypeError, KeyError):  # nothing prepared, or no such folder
        return ""
    return str(prepared["hint"])


def _place() -> Path:
    return Path(tempfile.gettempdir())
