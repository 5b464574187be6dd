"""Job files as values to submit, for the command line and for Python: YAML, or a batch script."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from motet.domain.bounded_reading.regular_files import regular_file
from motet.domain.bounded_reading.yaml_text import read_yaml
from motet.domain.errors import BadInput
from motet.interfaces.sbatch_scripts import sbatch_values

_LARGEST_BYTES = 4 << 20
_BATCH_SCRIPTS = (".sbatch", ".slurm")


def is_batch_script(path: Path) -> bool:
    """Whether the name is that of a batch script of Slurm."""
    return path.suffix in _BATCH_SCRIPTS


def is_job_file(path: Path) -> bool:
    """Whether the name is that of a job file or a batch script."""
    return path.suffix in (".yaml", ".yml") or is_batch_script(path)


def read_job_file(path: Path) -> dict[str, Any]:
    """The values of a job file or of a batch script of Slurm, unchecked. Raises BadInput."""
    text = _text(path)
    if is_batch_script(path):
        return sbatch_values(text, str(path))
    found = read_yaml(text, str(path))
    if not isinstance(found, dict):
        raise BadInput(f"{path}: a job file has lines 'name: ...', 'run: ...'")
    return found


def _text(path: Path) -> str:
    try:
        with regular_file(path).open("rb") as file:
            content = file.read(_LARGEST_BYTES + 1)
        if len(content) > _LARGEST_BYTES:
            raise BadInput(f"{path}: larger than {_LARGEST_BYTES:,} bytes; a job file is YAML")
        return content.decode()
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: not text in UTF-8; a job file is YAML") from error


def home_of(path: Path | None) -> Path:
    """To which a relative `workdir` refers: the folder of a job file, the present one otherwise, as
    with sbatch."""
    return Path.cwd() if path is None or is_batch_script(path) else path.parent


def resolved_folder(home: Path, folder: object) -> str:
    """The absolute path of a folder that is relative to `home`. Raises BadInput."""
    try:
        return str((home / str(folder)).resolve())
    except (OSError, RuntimeError, ValueError) as error:  # A loop of links, a NUL character.
        raise BadInput(f"workdir: not a folder ({error})") from error
