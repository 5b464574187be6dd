"""Entries of a `--reconfigure` file: mappings with their lines, each field checked when read."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

import yaml

from motet.domain.bounded_reading.regular_files import regular_file
from motet.domain.bounded_reading.yaml_text import StrictLoader, read_yaml
from motet.domain.errors import BadInput

_LINE = "__line__"


@dataclass(frozen=True)
class ReconfigureEntry:
    """A mapping of the file. `place`: its file and line, for errors."""

    place: str
    fields: Mapping[str, Any]

    def check_keys(self, known: Sequence[str]) -> None:
        """Raises BadInput for any other field."""
        for key in self.fields:
            if key not in known:
                raise BadInput(f"{self.place}: {key!r} is unknown here; use {', '.join(known)}")

    def has(self, name: str) -> bool:
        """Whether the field is given."""
        return name in self.fields

    def whole_number(self, name: str, least: int = 0) -> int:
        """Raises BadInput."""
        value = self.fields.get(name)
        if type(value) is not int or value < least:
            raise BadInput(f"{self.place}: {name} is {value!r}; give a whole number from {least}")
        return value

    def seconds(self, name: str) -> float:
        """Raises BadInput."""
        value = self.fields.get(name)
        if not _is_finite_number(value) or not 0 <= value < 1e9:
            raise BadInput(f"{self.place}: {name} is {value!r}; give seconds from 0")
        return float(value)

    def optional_number(self, name: str, example: str) -> float | None:
        """None if it is not given. Raises BadInput."""
        value = self.fields.get(name)
        if value is not None and not _is_finite_number(value):
            raise BadInput(f"{self.place}: {name} is {value!r}; give a number such as {example}")
        return value

    def choice(self, name: str, choices: Sequence[str]) -> str:
        """Raises BadInput."""
        value = self.fields.get(name)
        if value not in choices:
            raise BadInput(f"{self.place}: {name} is {value!r}; use {' or '.join(choices)}")
        return str(value)

    def entries(self, name: str) -> list[ReconfigureEntry]:
        """The mappings of a list in the same file. Raises BadInput."""
        path = self.place.rpartition(":")[0]
        return [_entry(path, number, item) for number, item in enumerate(self.fields[name], 1)]


def read_entries(path: Path) -> list[ReconfigureEntry]:
    """The entries of a file, at least one. Raises BadInput."""
    try:
        text = regular_file(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise BadInput(f"--reconfigure {path}: cannot be read ({reason})") from error
    content = read_yaml(text, str(path), loader=_LineLoader)
    if not isinstance(content, list) or not content:
        raise BadInput(
            f"--reconfigure {path}: must be a list of changes, for example "
            "'- {at_epoch: 3, workers: 3, servers: 1}'"
        )
    return [_entry(str(path), number, item) for number, item in enumerate(content, start=1)]


def _entry(path: str, number: int, item: object) -> ReconfigureEntry:
    if not isinstance(item, dict):
        raise BadInput(f"{path}: item {number} is {item!r}; write it as 'name: value' pairs")
    fields = {str(key): value for key, value in item.items() if key != _LINE}
    return ReconfigureEntry(f"{path}:{item[_LINE]}", fields)


def _is_finite_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


class _LineLoader(StrictLoader):
    """Adds its line to every mapping."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """The mapping and the line where it begins."""
        return {**super().construct_mapping(node, deep), _LINE: node.start_mark.line + 1}
