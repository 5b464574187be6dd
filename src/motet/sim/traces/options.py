"""What a user states about a log that the log does not: names of columns, a time zone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import tzinfo
from pathlib import Path
from typing import Self

from motet.domain.errors import BadInput, UnknownName
from motet.sim.traces.decoding import checked_encoding
from motet.sim.traces.times.clock_forms import ClockForm, given_form
from motet.sim.traces.times.time_stamps import zone_named
from motet.sim.traces.trace import TRACE_COLUMNS


@dataclass(frozen=True)
class ReadingOptions:
    """`throughputs`: table of isolated speeds, for Gavel traces. `columns`: the column of the file
    for columns of Motet's CSV. `zone`: of time stamps without one; None: UTC. `encoding`: of the
    text; None: see `decoded`. `clock`: the form of times; None: it is found out.
    """

    throughputs: Path | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    zone: tzinfo | None = None
    encoding: str | None = None
    clock: ClockForm | None = None

    @classmethod
    def of(
        cls,
        throughputs: Path | None = None,
        columns: Mapping[str, str] | None = None,
        timezone: str | None = None,
        encoding: str | None = None,
        time_format: str | None = None,
    ) -> Self:
        """Options from the arguments of users. Raises BadInput, UnknownName."""
        for name in columns or {}:
            if name not in TRACE_COLUMNS:
                raise UnknownName("column of a trace in --columns", name, TRACE_COLUMNS)
        zone = None if timezone is None else zone_named(timezone)
        if encoding is not None:
            checked_encoding(encoding)
        clock = None if time_format is None else given_form(time_format)
        return cls(throughputs, dict(columns or {}), zone, encoding, clock)


def parse_columns(texts: tuple[str, ...]) -> dict[str, str]:
    """`("submit_time=Submitted,num_gpus=GPUs",)` as a mapping. Raises BadInput."""
    found: dict[str, str] = {}
    for text in texts:
        for part in filter(None, map(str.strip, text.split(","))):
            name, _, column = (each.strip() for each in part.partition("="))
            if not name or not column:
                raise BadInput(
                    f"--columns {text[:80]}: {part[:40]!r} is not NAME=COLUMN; write for example "
                    "submit_time=Submitted,num_gpus=AllocGPUS"
                )
            if name in found:
                raise BadInput(f"--columns {text[:80]}: {name} is given twice; give it once")
            found[name] = column
    return found
