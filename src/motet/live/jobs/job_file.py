"""Job files: what a user submits, checked, with defaults. Every error is one line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from motet.domain.errors import BadInput, nearest_name
from motet.live.jobs.job_sections import PATTERNS, TRIAL_FORMS
from motet.live.jobs.job_spec import (
    COUNT_FORMS,
    SECTIONS,
    CommandSpec,
    JobSpec,
    TrainingSpec,
)
from motet.live.jobs.wrong_values import wrong_value

_LONGEST_PLACE = 80
ARRAY_KEYS = ("array", "matrix", "max_parallel")
"""Keys of job files that describe many jobs; see `array_file`."""
_KINDS: Mapping[str, type[CommandSpec | TrainingSpec]] = {
    "command": CommandSpec,
    "ps": TrainingSpec,
}


def job_spec(values: Mapping[str, Any], source: str = "job") -> JobSpec:
    """Check the values of a job file. Raises BadInput that names `source`, key and remedy.

    Without `kind`, a job with `app` is a training, any other one a command.
    """
    kind = values.get("kind", "ps" if "app" in values else "command")
    if not isinstance(kind, str) or kind not in _KINDS:
        raise BadInput(f"{source}: kind: {str(kind)[:40]!r}; one of {', '.join(_KINDS)}")
    model = _KINDS[kind]
    try:
        return model.model_validate({**values, "kind": kind})
    except ValidationError as error:
        raise BadInput(f"{source}: {_told(error, model)}") from error


def _told(error: ValidationError, model: type[BaseModel]) -> str:
    """The first problem in one line; a misspelt key explains one that is missing."""
    problems = error.errors(include_url=False)
    problem = min(problems, key=lambda each: each["type"] != "extra_forbidden")
    loc = _keys(problem)
    place = ".".join(loc)
    if len(place) > _LONGEST_PLACE:
        place = f"{place[:_LONGEST_PLACE]}..."
    if problem["type"] == "extra_forbidden":
        return f"unknown key {place}{_hint(loc, model)}"
    if problem["type"] == "missing":
        return f"{place} is missing"
    text = wrong_value(problem, PATTERNS)
    return f"{place}: {text}" if place else text


def _keys(problem: ErrorDetails) -> list[str]:
    """The keys on the way to a problem, without the members of unions between them."""
    names = [str(part) for part in problem["loc"]]
    keys = {0, len(names) - 1} if problem["type"] == "extra_forbidden" else {0}
    return [name for n, name in enumerate(names) if n in keys or name not in _UNION_MEMBERS]


_UNION_MEMBERS = ("str", "int", "bool", "float", "tuple[str, ...]", *COUNT_FORMS, *TRIAL_FORMS)
"""Pydantic names the member of a union after the key."""


_KEYS_ELSEWHERE: Mapping[str, tuple[str, ...]] = {
    "resources": ("processes", "workers", "cpus", "memory"),
    **dict.fromkeys(
        ("accelerators", "gpus", "nodes", "num_gpus", "num_nodes", "ntasks", "replicas"),
        ("processes", "workers"),
    ),
    **dict.fromkeys(("args", "command", "commands", "entrypoint", "script", "setup"), ("run",)),
    **dict.fromkeys(("dependencies", "dependency", "depends_on", "needs"), ("after",)),
    **dict.fromkeys(("max_restarts", "max_retries", "restart_policy"), ("retry",)),
    **dict.fromkeys(("cwd", "dir", "working_dir"), ("workdir",)),
    **dict.fromkeys(("partition",), ("queue",)),
    **dict.fromkeys(("time", "time_limit", "timeout", "walltime"), ("max_duration",)),
}
"""Keys of the job files of SkyPilot, dstack, Kubernetes and Slurm, and those for the same here."""


_SLOT_IS_GPU = " (each has a slot, which is a GPU where the machines have GPUs)"
_GPU_KEYS = ("accelerators", "gpus", "num_gpus")


def _hint(loc: Sequence[str], model: type[BaseModel]) -> str:
    *sections, key = loc
    for name in sections:
        model = SECTIONS[name]
    of_arrays = () if sections else ARRAY_KEYS
    known = sorted([*model.model_fields, *of_arrays])
    same = [name for name in _KEYS_ELSEWHERE.get(key.lower(), ()) if name in known]
    near = " or ".join(same) if same and not sections else nearest_name(key, known)
    near = f"{near}{_SLOT_IS_GPU}" if same and key.lower() in _GPU_KEYS else near
    return (f"; did you mean {near}?" if near else ";") + f" known: {', '.join(known)}"
