"""YAML as Motet's files have it: who names a field twice is told so, with the line. Pure."""

from __future__ import annotations

from typing import Any

import yaml

from motet.domain.errors import BadInput


class StrictLoader(yaml.SafeLoader):
    """As YAML's safe loader, which lets the last one win of entries with the same name."""

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        """Raises _Repeated."""
        node = super().compose_mapping_node(anchor)
        lines: dict[str, int] = {}
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                line = key.start_mark.line + 1
                if key.value in lines:
                    raise _Repeated(key.value, lines[key.value], line)
                lines[key.value] = line
        return node


class _Repeated(Exception):
    """A name that stands twice in one mapping, and in which lines."""


def read_yaml(
    text: str, place: str, *, name: str = "YAML", loader: type[StrictLoader] = StrictLoader
) -> Any:
    """What a text says. `place`: the file, for errors; `name`: of what it should be.

    Raises BadInput, naming the line.
    """
    try:
        return yaml.load(text, loader)
    except _Repeated as error:
        key, first, line = error.args
        raise BadInput(
            f"{place}:{line}: {key!r} is given twice, first in line {first}; leave one of them out"
        ) from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = place if mark is None else f"{place}:{mark.line + 1}"
        reason = getattr(error, "problem", None) or " ".join(str(error).split())
        raise BadInput(f"{where}: no {name} ({reason})") from error
