"""Job files in YAML, completed by the options of `motet submit`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from motet.domain.errors import BadInput
from motet.interfaces.cli.live.name_value import name_and_value
from motet.interfaces.configuration.settings import QUEUE, value_of
from motet.interfaces.job_files import home_of, read_job_file, resolved_folder


def job_values(
    path: Path | None, command: Sequence[str], envs: Sequence[str], given: Mapping[str, Any]
) -> dict[str, Any]:
    """The values to submit: those of the file, then the options. Raises BadInput."""
    given = {name: value for name, value in given.items() if value not in (None, {})}
    if sum((path is not None, bool(command), "app" in given)) != 1:
        raise click.UsageError(
            "give one of: a job file with -f, a batch script (job.sbatch), a command after '--', "
            "--app"
        )
    values: dict[str, Any] = {"run": list(command)} if command else {}
    if path is not None:
        values = read_job_file(path)
        given["set"] = {**_section(values, "set"), **given.get("set", {})}
    values.update({name: value for name, value in given.items() if value != {}})
    values["workdir"] = resolved_folder(home_of(path), values.get("workdir", "."))
    values.setdefault("name", path.stem if path else _name(command, given))
    if "queue" not in values and (queue := value_of(QUEUE)):
        values["queue"] = queue
    if envs:
        values["envs"] = {
            **_section(values, "envs"),
            **dict(name_and_value("--env", each) for each in envs),
        }
    return values


def _name(command: Sequence[str], given: Mapping[str, Any]) -> str:
    """That of the program or of the application: a file's without its ending."""
    if command:
        return os.path.basename(command[0]) or "job"
    place, _, class_name = str(given["app"]).partition(":")
    return Path(place).stem if place.endswith(".py") else class_name or place


def _section(values: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Raises BadInput unless it has names and values."""
    section = values.get(key) or {}
    if not isinstance(section, dict):
        raise BadInput(f"{key}: a section with lines 'NAME: VALUE'")
    return section
