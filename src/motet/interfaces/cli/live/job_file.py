"""Job files in YAML, completed by the options of `motet submit`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from motet.domain.bounded_reading.yaml_text import read_yaml
from motet.domain.errors import BadInput
from motet.interfaces.cli.live.name_value import name_and_value


def job_values(
    path: Path | None, command: Sequence[str], envs: Sequence[str], given: Mapping[str, Any]
) -> dict[str, Any]:
    """The values to submit: those of the file, then the options. Raises BadInput."""
    if (path is None) == (not command):
        raise click.UsageError("give a job file with -f, or a command after '--'")
    values: dict[str, Any] = _read(path) if path is not None else {"run": list(command)}
    values.update({name: value for name, value in given.items() if value is not None})
    home = Path.cwd() if path is None else path.parent
    values["workdir"] = str((home / str(values.get("workdir", "."))).resolve())
    values.setdefault("name", path.stem if path else os.path.basename(command[0]) or "job")
    if envs:
        values["envs"] = {
            **values.get("envs", {}),
            **dict(name_and_value("--env", each) for each in envs),
        }
    return values


def _read(path: Path) -> dict[str, Any]:
    found = read_yaml(path.read_text(encoding="utf-8"), str(path))
    if not isinstance(found, dict):
        raise BadInput(f"{path}: a job file has lines 'name: ...', 'run: ...'")
    return found
