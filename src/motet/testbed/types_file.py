"""The file of `--types`: machine types as CSV or YAML.

A row (CSV) or an entry of the list `machines` (YAML) describes `count` equal machines::

    name,count,cpus,bandwidth,memory
    fast,2,0.4,100mbit,1gb
    slow,6,0.1,50mbit,

`name` is required. An empty cell has the value of the command's flag, or no limit.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from motet.domain.bounded_reading.regular_files import regular_file
from motet.domain.errors import BadInput, UnknownName
from motet.testbed.hosts import HostType, Limits
from motet.testbed.quantities import bandwidth_of, cpus_of, memory_of

COLUMNS = ("name", "count", "cpus", "bandwidth", "memory")
_COUNT = re.compile("0*[1-9][0-9]{0,5}")
_Row = tuple[str, Mapping[str, str]]
"""The place for error messages, and the cells by column."""


def read_types(path: Path, defaults: Limits) -> list[HostType]:
    """Read the types in a file, in its order. Raises BadInput."""
    readers: dict[str, Callable[[Path], Iterable[_Row]]] = {
        ".csv": _csv_rows,
        ".yaml": _yaml_rows,
        ".yml": _yaml_rows,
    }
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise BadInput(f"--types {path}: name it .csv or .yaml after what is in it")
    try:
        types = [_host_type(place, cells, defaults) for place, cells in reader(path)]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise BadInput(f"--types {path}: cannot be read ({reason})") from error
    if not types:
        raise BadInput(f"--types {path}: no machine in it; write a row per type of machine")
    return types


def _host_type(place: str, cells: Mapping[str, str], defaults: Limits) -> HostType:
    _check_columns(place, cells)
    count = cells.get("count") or "1"
    if not _COUNT.fullmatch(count):
        raise BadInput(f"{place}: count is {count!r:.40}; give a whole number from 1 on")
    own = Limits(
        cpus=cpus_of(cells["cpus"], f"{place}: cpus") if cells.get("cpus") else None,
        bandwidth_bps=(
            bandwidth_of(cells["bandwidth"], f"{place}: bandwidth")
            if cells.get("bandwidth")
            else None
        ),
        memory_bytes=(
            memory_of(cells["memory"], f"{place}: memory") if cells.get("memory") else None
        ),
    )
    return HostType(cells["name"], int(count), defaults.changed(own))


def _check_columns(place: str, cells: Mapping[str, str]) -> None:
    for name in cells:
        if name not in COLUMNS:
            raise BadInput(f"{place}: {UnknownName('column', name, COLUMNS)}")
    if not cells.get("name"):
        raise BadInput(f"{place}: the type has no name; fill the column 'name'")


def _csv_rows(path: Path) -> Iterable[_Row]:
    with regular_file(path).open(newline="", encoding="utf-8-sig") as file:
        reader = csv.DictReader(file)
        reader.fieldnames = [name.strip() for name in reader.fieldnames or ()]
        for row in reader:
            place = f"{path}:{reader.line_num}"
            if None in row or None in row.values():
                width = len(reader.fieldnames)
                raise BadInput(f"{place}: the header has {width} columns, this row does not")
            yield place, {name: cell.strip() for name, cell in row.items()}


def _yaml_rows(path: Path) -> Iterable[_Row]:
    from motet.domain.bounded_reading.yaml_text import read_yaml

    document = read_yaml(regular_file(path).read_text(encoding="utf-8"), str(path))
    entries = document.get("machines") if isinstance(document, dict) else document
    if not isinstance(entries, list):
        raise BadInput(f"--types {path}: write a list under 'machines:', an entry per type")
    for number, entry in enumerate(entries, start=1):
        place = f"{path}: entry {number}"
        if not isinstance(entry, dict):
            raise BadInput(f"{place}: {entry!r} is not a mapping; write 'name: fast', for example")
        yield place, {str(key): "" if cell is None else str(cell) for key, cell in entry.items()}
