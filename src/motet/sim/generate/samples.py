"""Measured durations from a file: a trace in any format, or one number per line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from motet.domain.units import SECOND_US
from motet.sim.traces import FORMATS, read_trace
from motet.sim.traces.cells import seconds_us
from motet.sim.traces.source import Source


def read_samples(path: Path) -> NDArray[np.float64]:
    """`(samples,)` seconds. A first line that is not a number is a heading. Raises BadInput."""
    source = Source.open(path)
    if any(entry.recognises(source) for entry in FORMATS.values()):
        return read_trace(path).workload.duration_us / SECOND_US
    samples = [
        _sample(source, number, line)
        for number, line in enumerate(source.text.splitlines(), start=1)
        if line.strip() and not (number == 1 and _is_heading(line))
    ]
    if not samples:
        raise source.complaint("holds no durations", "give one number of seconds per line")
    return np.array(samples)


def _sample(source: Source, number: int, line: str) -> float:
    try:
        value_us = seconds_us(line)
    except ValueError as error:
        problem, remedy = f"{line[:40]!r}, {error}", "give a trace, or one number per line"
        raise source.complaint(problem, remedy, number) from None
    if value_us < 0:
        raise source.complaint(f"duration is {line.strip()}", "it must be at least 0", number)
    return value_us / SECOND_US


def _is_heading(line: str) -> bool:
    return "," not in line and not any(character.isdecimal() for character in line)
