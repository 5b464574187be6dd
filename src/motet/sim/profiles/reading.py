"""Profiles from CSV: the bundled ones, and `--profiles FILE`.

A row is one measurement of a model::

    model,type,gpus,beside,steps_per_s,spread_steps_per_s,gpu_busy,restart_s,size_mb,largest_mb
    MyNet,V100,4,,20.5,14,,,,
    MyNet,V100,1,ResNet-50,3.1,,,,,
    MyNet,,,,,,0.6,25,310,120

Lines that begin with # are ignored, columns are optional.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from math import inf, isfinite
from pathlib import Path

from motet.domain.bounded_reading.regular_files import regular_file
from motet.domain.errors import BadInput, UnknownName
from motet.domain.model_profile import model_key
from motet.sim.profiles.table import ModelName, ProfileTable

BUNDLED = Path(__file__).with_name("measured.csv")
SPEED_COLUMNS = ("steps_per_s", "spread_steps_per_s")
MODEL_COLUMNS = ("gpu_busy", "restart_s", "size_mb", "largest_mb")
COLUMNS = ("model", "type", "gpus", "beside", *SPEED_COLUMNS, *MODEL_COLUMNS)
MOST_GPUS = 1_000_000
LONGEST_RESTART_S = 1e6


@dataclass(frozen=True)
class _Row:
    """`place`: file and line, for error messages."""

    place: str
    cells: Mapping[str, str]

    def text(self, name: str) -> str:
        return self.cells.get(name, "")

    def number(self, name: str, most: float = inf, least: float = 0.0) -> float | None:
        """None if the cell is empty. Raises BadInput."""
        text = self.text(name)
        if not text:
            return None
        try:
            value = float(text)
        except ValueError:
            value = -1.0
        if not (isfinite(value) and least <= value <= most):
            limit = "" if most == inf else f" and not above {most:g}"
            raise self.wrong(f"{name} is {text!r}; give a number not below {least:g}{limit}")
        return value

    @property
    def gpus(self) -> int:
        value = self.number("gpus", MOST_GPUS, 1)
        if value is not None and value != int(value):
            raise self.wrong(f"gpus is {self.text('gpus')!r}; give a whole number")
        return int(value or 1)

    def wrong(self, problem: str) -> BadInput:
        return BadInput(f"{self.place}: {problem}")


@cache
def bundled_profiles() -> ProfileTable:
    """The profiles that come with Motet."""
    return _read(BUNDLED)


def open_profiles(path: Path) -> ProfileTable:
    """The bundled profiles; a model in the file replaces all bundled measurements of that model.

    Raises BadInput.
    """
    try:
        return bundled_profiles().under(_read(path))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise BadInput(f"profiles {path}: cannot be read ({reason})") from error


def _read(path: Path) -> ProfileTable:
    table = ProfileTable()
    for row in _rows(path):
        if not row.text("model"):
            raise row.wrong("a row needs a model")
        if row.text("type"):
            _add_speed(row, table)
        else:
            _add_model(row, table)
    return table


def _rows(path: Path) -> Iterator[_Row]:
    with regular_file(path).open(newline="", encoding="utf-8-sig") as file:
        lines = ((number, line) for number, line in enumerate(file, 1) if line.strip())
        kept = [(number, line) for number, line in lines if not line.startswith("#")]
    cells = csv.reader(line for _, line in kept)
    header = [name.strip() for name in next(cells, [])]
    for name in header:
        if name not in COLUMNS:
            error = UnknownName("column of profiles", name, COLUMNS)
            raise BadInput(f"{path}:{kept[0][0]}: {error}")
    if "model" not in header:
        raise BadInput(f"{path}: no column 'model'; the columns are {', '.join(COLUMNS)}")
    for values in cells:
        place = f"{path}:{kept[cells.line_num - 1][0]}"
        if any("\n" in value for value in values):
            raise BadInput(f"{place}: a cell holds a line end; write one row per line")
        if len(values) != len(header):
            raise BadInput(f"{place}: {len(values)} cells, but the header has {len(header)}")
        yield _Row(place, dict(zip(header, map(str.strip, values), strict=True)))


def _add_speed(row: _Row, table: ProfileTable) -> None:
    """Add a row with a type: steps per second, alone or beside another model."""
    for name in MODEL_COLUMNS:
        if row.text(name):
            raise row.wrong(f"{name} is of a model, not of a type; write it in a row without type")
    steps_per_s, spread = (row.number(name) for name in SPEED_COLUMNS)
    key = ModelName.of(row.text("model")), row.text("type").lower()
    if steps_per_s is None:
        raise row.wrong("steps_per_s is missing")
    if row.text("beside"):
        other = ModelName.of(row.text("beside"))
        _add(row, table.beside.setdefault((*key, other), {}), steps_per_s)
        return
    if not steps_per_s:
        raise row.wrong("steps_per_s is 0; leave unmeasured values out")
    _add(row, table.alone.setdefault(key, {}), steps_per_s)
    if spread is not None:
        _add(row, table.spread.setdefault(key, {}), min(spread / steps_per_s, 1.0))


def _add_model(row: _Row, table: ProfileTable) -> None:
    """Add a row without a type: measurements that apply to all types."""
    for name in ("beside", *SPEED_COLUMNS):
        if row.text(name):
            raise row.wrong(f"{name} depends on the type of GPU, and type is empty")
    key = model_key(row.text("model"))
    gpu_busy, restart_s = row.number("gpu_busy", 1), row.number("restart_s", LONGEST_RESTART_S)
    if gpu_busy is not None:
        _add(row, table.gpu_busy.setdefault(key, {}), gpu_busy)
    if restart_s is not None:
        _add(row, table.restart_s.setdefault(key, {}), restart_s)
    size_mb, largest_mb = row.number("size_mb"), row.number("largest_mb")
    if size_mb is None and largest_mb is None:
        if gpu_busy is None and restart_s is None:
            raise row.wrong("the row has no value of the model")
        return
    if not size_mb or largest_mb is None or largest_mb > size_mb:
        raise row.wrong("give size_mb above 0, and largest_mb not above it")
    table.sizes_mb[key] = size_mb, largest_mb


def _add(row: _Row, measured: dict[int, float], value: float) -> None:
    if row.gpus in measured:
        raise row.wrong("an earlier row has this value already")
    measured[row.gpus] = value
