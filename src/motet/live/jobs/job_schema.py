"""The JSON Schema of job files, for editors and other programs."""

from __future__ import annotations

from typing import Any

from motet.live.jobs.array_file import MOST_JOBS
from motet.live.jobs.job_file import ARRAY_KEYS
from motet.live.jobs.job_spec import ANY_MACHINES, CommandSpec, TrainingSpec

_FILLED_IN = {"name", "workdir", "kind"}
"""Keys that `motet submit` completes."""
_PLACEHOLDER = {"type": "string", "pattern": r"^\{\{ *[A-Za-z_][A-Za-z0-9_]* *\}\}$"}
_ARRAY: dict[str, dict[str, Any]] = {
    "array": {
        "description": "Indices, and after '%' how many jobs may be unfinished: 0-99%8.",
        "anyOf": [{"type": "string"}, {"type": "integer", "minimum": 0}],
    },
    "matrix": {
        "description": "Names and their values; every combination is a job.",
        "type": "object",
        "minProperties": 1,
        "propertyNames": {"pattern": "^[A-Za-z_][A-Za-z0-9_]*$"},
        "additionalProperties": {
            "type": "array",
            "minItems": 1,
            "maxItems": MOST_JOBS,
            "items": {"type": ["boolean", "integer", "number", "string"]},
        },
    },
    "max_parallel": {
        "description": "How many jobs of the array may be unfinished at a time.",
        "type": "integer",
        "minimum": 1,
    },
}
assert tuple(_ARRAY) == ARRAY_KEYS


def job_file_schema() -> dict[str, Any]:
    """Of draft 2020-12. A value may be a placeholder, which only arrays replace."""
    command, training = (_kind(model) for model in (CommandSpec, TrainingSpec))
    sections = {**command.pop("$defs"), **training.pop("$defs")}
    after = {"anyOf": [training["properties"]["after"], {"type": ["integer", "string"]}]}
    machines = training["properties"]["machines"]
    training["properties"]["machines"] = {"anyOf": [machines, {"const": ANY_MACHINES}]}
    for kind in (command, training):
        kind["properties"]["after"] = after
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Job file of Motet",
        "if": {"anyOf": [{"required": ["app"]}, _is_training()]},
        "then": training,
        "else": command,
        "$defs": sections,
    }


def _is_training() -> dict[str, Any]:
    return {"required": ["kind"], "properties": {"kind": {"const": "ps"}}}


def _kind(model: type[CommandSpec | TrainingSpec]) -> dict[str, Any]:
    found = model.model_json_schema()
    found["required"] = sorted(set(found["required"]) - _FILLED_IN)
    for name, values in found["properties"].items():
        if name != "kind":
            found["properties"][name] = {"anyOf": [values, _PLACEHOLDER]}
    found["properties"] |= _ARRAY
    return found
