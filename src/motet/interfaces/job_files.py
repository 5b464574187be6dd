"""Job files in YAML as values to submit, for the command line and for Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from motet.domain.bounded_reading.regular_files import regular_file
from motet.domain.bounded_reading.yaml_text import read_yaml
from motet.domain.errors import BadInput

_LARGEST_BYTES = 4 << 20


def read_job_file(path: Path) -> dict[str, Any]:
    """The values of a job file, unchecked. Raises BadInput."""
    try:
        with regular_file(path).open("rb") as file:
            content = file.read(_LARGEST_BYTES + 1)
        if len(content) > _LARGEST_BYTES:
            raise BadInput(f"{path}: larger than {_LARGEST_BYTES:,} bytes; a job file is YAML")
        found = read_yaml(content.decode(), str(path))
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: not text in UTF-8; a job file is YAML") from error
    if not isinstance(found, dict):
        raise BadInput(f"{path}: a job file has lines 'name: ...', 'run: ...'")
    return found


def resolved_folder(home: Path, folder: object) -> str:
    """The absolute path of a folder that is relative to `home`. Raises BadInput."""
    try:
        return str((home / str(folder)).resolve())
    except (OSError, RuntimeError, ValueError) as error:  # A loop of links, a NUL character.
        raise BadInput(f"workdir: not a folder ({error})") from error
