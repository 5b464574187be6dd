"""Parser for `--cluster`: `15x4`, or a CSV or YAML file that lists machines.

A row (CSV) or an entry of the list `machines` (YAML) is one machine, or `count` equal ones::

    name,count,gpus,type,rack,cpus,memory_gb,bandwidth_gbps
    big,4,8,V100,r1,96,768,100
    small,20,4,P100,r2,48,256,40

Only `gpus` is required. `type`: the GPU model; `rack`: machines of one rack share a switch.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path

from motet.domain.bounded_reading.regular_files import regular_file
from motet.domain.cluster import MOST_MACHINES, ClusterSpec
from motet.domain.errors import BadInput, UnknownName
from motet.domain.units import GIGA

COLUMNS = ("name", "count", "gpus", "type", "rack", "cpus", "memory_gb", "bandwidth_gbps")
MOST_GPUS_PER_MACHINE = 1_000_000


@dataclass(frozen=True)
class _Machines:
    """One row. `place`: file and line, for error messages."""

    place: str
    cells: Mapping[str, str]

    def text(self, name: str, default: str) -> str:
        return self.cells.get(name) or default

    def number(self, name: str, default: int | None, unit: int = 1, most: int = 10**15) -> int:
        """A column's value in units of one. Raises BadInput."""
        text = self.cells.get(name)
        if not text and default is not None:
            return default
        try:
            value = Decimal(text or "nothing") * unit
            is_good = 0 <= value <= most and value == int(value)
        except (InvalidOperation, ValueError, OverflowError):
            is_good = False
        if not is_good:
            raise BadInput(
                f"{self.place}: {name} is {text or ''!r}; give a number from 0 to {most // unit:,}"
            )
        return int(value)


def open_cluster(spec: str) -> ClusterSpec:
    """The cluster that `--cluster` describes. Raises BadInput."""
    readers: dict[str, Callable[[Path], Iterable[_Machines]]] = {
        ".csv": _csv_rows,
        ".yaml": _yaml_rows,
        ".yml": _yaml_rows,
    }
    reader = readers.get(Path(spec).suffix.lower())
    if reader is None:
        return ClusterSpec.parse(spec)
    try:
        rows = list(reader(Path(spec)))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise BadInput(f"--cluster {spec}: cannot be read ({reason})") from error
    return _cluster(spec, rows)


def _cluster(spec: str, rows: Iterable[_Machines]) -> ClusterSpec:
    machines: list[_Machines] = []
    names: list[str] = []
    for row in rows:
        count = row.number("count", 1, most=MOST_MACHINES)
        if len(machines) + count > MOST_MACHINES:
            raise BadInput(f"{row.place}: more than {MOST_MACHINES:,} machines")
        name = row.text("name", f"m{len(machines)}")
        names += [name] if count == 1 else [f"{name}-{number}" for number in range(count)]
        machines += [row] * count
    _check_names(spec, names)
    gpus = [row.number("gpus", None, most=MOST_GPUS_PER_MACHINE) for row in machines]
    if not sum(gpus):
        raise BadInput(f"--cluster {spec}: no machine in it has a GPU")
    racks = {rack: number for number, rack in enumerate(dict.fromkeys(map(_rack, machines)))}
    return ClusterSpec.of(
        gpus,
        names=tuple(names),
        types=[row.text("type", "gpu") for row in machines],
        rack=[racks[_rack(row)] for row in machines],
        cpus=[row.number("cpus", 0) for row in machines],
        memory_bytes=[row.number("memory_gb", 0, GIGA) for row in machines],
        bandwidth_bps=[row.number("bandwidth_gbps", 0, GIGA) for row in machines],
    )


def _rack(row: _Machines) -> str:
    return row.text("rack", "")


def _check_names(spec: str, names: list[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise BadInput(
                f"--cluster {spec}: two machines have the name {name!r}; names are unique"
            )
        seen.add(name)


def _csv_rows(path: Path) -> Iterable[_Machines]:
    _check_not_empty(path, f"a header with at least 'gpus' (known: {','.join(COLUMNS)})")
    with path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.DictReader(file)
        header = [name.strip() for name in reader.fieldnames or ()]
        reader.fieldnames = header
        _check_columns(f"{path}:1", header)
        for row in reader:
            place = f"{path}:{reader.line_num}"
            if None in row or None in row.values():
                raise BadInput(f"{place}: the header has {len(header)} columns, this row does not")
            yield _Machines(place, {name: cell.strip() for name, cell in row.items()})


def _yaml_rows(path: Path) -> Iterable[_Machines]:
    from motet.domain.bounded_reading.yaml_text import read_yaml

    _check_not_empty(path, "a list of machines, each with 'gpus: 4', for example")
    document = read_yaml(path.read_text(encoding="utf-8"), str(path))
    entries = document.get("machines") if isinstance(document, dict) else document
    if not isinstance(entries, list):
        raise BadInput(f"--cluster {path}: write a list under 'machines:', an entry per machine")
    for number, entry in enumerate(entries, start=1):
        place = f"{path}: entry {number}"
        if not isinstance(entry, dict):
            raise BadInput(f"{place}: {entry!r} is not a mapping; write 'gpus: 4', for example")
        _check_columns(place, map(str, entry))
        yield _Machines(place, {str(key): _text(value) for key, value in entry.items()})


def _check_not_empty(path: Path, remedy: str) -> None:
    if not regular_file(path).read_text(encoding="utf-8-sig").strip():
        raise BadInput(f"--cluster {path}: the file is empty; give {remedy}")


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _check_columns(place: str, names: Iterable[str]) -> None:
    known = list(names)
    for name in known:
        if name not in COLUMNS:
            error = UnknownName("column of a cluster", name, COLUMNS)
            raise BadInput(f"{place}: {error}")
    if "gpus" not in known:
        raise BadInput(f"{place}: the number of GPUs ('gpus') is missing")
