"""Fields of the YAML and JSON files that `motet plan` reads, each checked when it is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from motet.domain.bounded_reading.regular_files import regular_file
from motet.domain.errors import BadInput, NotFound, UnknownName


@dataclass(frozen=True)
class Fields:
    """A mapping from a file. `place`: its file and position, for errors."""

    place: str
    values: Mapping[str, Any]

    @classmethod
    def of(cls, place: str, value: object) -> Fields:
        """Raises BadInput if it is not a mapping."""
        if not isinstance(value, dict):
            what = "nothing is there" if value is None else f"{value!r} is not a mapping"
            raise BadInput(f"{place}: {what}; write 'name: value' lines")
        return cls(place, {str(key): entry for key, entry in value.items()})

    def only(self, *names: str) -> Fields:
        """These fields. Raises BadInput if there are other names."""
        for name in self.values:
            if name not in names:
                raise BadInput(f"{self.place}: {UnknownName('field', name, names)}")
        return self

    def __contains__(self, name: str) -> bool:
        return self.values.get(name) is not None

    def number(self, name: str, default: float | None = None) -> float:
        """A number above 0. Raises BadInput."""
        if name not in self and default is not None:
            return default
        try:
            # YAML takes 4e-4 for text.
            value = float(self._present(name))
        except (TypeError, ValueError):
            value = -1.0
        if not 0 < value < float("inf"):
            raise BadInput(f"{self.place}: {name} is {self.values[name]!r}; give a number above 0")
        return value

    def whole(self, name: str, default: int | None = None, least: int = 1) -> int:
        """A whole number. Raises BadInput."""
        if name not in self and default is not None:
            return default
        value = self._present(name)
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise BadInput(
                f"{self.place}: {name} is {value!r}; give a whole number, at least {least}"
            )
        return value

    def text(self, name: str) -> str:
        """Text. Raises BadInput."""
        return str(self._present(name))

    def entries(self, name: str) -> list[Fields]:
        """A list of mappings, empty if it is not given. Raises BadInput."""
        value = self.values.get(name) or []
        if not isinstance(value, list):
            raise BadInput(f"{self.place}: {name} is {value!r}; give a list")
        return [
            Fields.of(f"{self.place}: {name}, entry {number}", entry)
            for number, entry in enumerate(value, start=1)
        ]

    def _present(self, name: str) -> Any:
        if name not in self:
            raise BadInput(f"{self.place}: {name} is missing")
        return self.values[name]


def read_fields(path: Path) -> Fields:
    """A YAML or JSON file. Raises NotFound, BadInput."""
    from motet.domain.bounded_reading.yaml_text import read_yaml

    try:
        text = regular_file(path).read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise NotFound(f"{path}: no such file") from error
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: not text; give YAML or JSON") from error
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror})") from error
    return Fields.of(str(path), read_yaml(text, str(path), name="YAML or JSON"))
