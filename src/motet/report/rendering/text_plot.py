"""Curves drawn with characters: a one-line sparkline and a braille chart of several lines."""

from __future__ import annotations

import math
from collections.abc import Sequence

BLOCKS = "▁▂▃▄▅▆▇█"
BRAILLE = 0x2800
# Bits of the dots of a braille cell, by row (from the top) and column.
DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
ROWS_PER_CELL, COLUMNS_PER_CELL = 4, 2


def sparkline(values: Sequence[float], width: int) -> str:
    """At most `width` block characters, the newest value last; a gap where one is not finite.

    Curves that fall steeply and then slowly are drawn on a logarithmic scale, so that the slow part
    is not flat.
    """
    scaled = _distances(_spread(values))
    levels = _to_levels(_resample(scaled, min(width, len(values))), len(BLOCKS))
    return "".join(" " if level is None else BLOCKS[level] for level in levels)


def braille_curve(values: Sequence[float], width: int, height: int, span: int = 0) -> list[str]:
    """A connected curve in `height` lines of `width` characters.

    `span`: number of values of the full width (0: all given values); a curve with fewer values
    ends before the right edge.
    """
    columns, rows = width * COLUMNS_PER_CELL, height * ROWS_PER_CELL
    used = columns if span <= 0 else round(columns * len(values) / max(span, len(values)))
    levels = _to_levels(_resample(_spread(values), max(used, min(len(values), 1))), rows)
    cells = [[BRAILLE] * width for _ in range(height)]
    previous: int | None = None
    for column, level in enumerate(levels):
        for row in _segment(previous, level, rows):
            bit = DOTS[row % ROWS_PER_CELL][column % COLUMNS_PER_CELL]
            cells[row // ROWS_PER_CELL][column // COLUMNS_PER_CELL] |= bit
        previous = level
    # Some fonts draw the empty braille cell as eight rings, so a space is used instead.
    return ["".join(map(chr, line)).replace(chr(BRAILLE), " ") for line in cells]


def _segment(previous: int | None, level: int | None, rows: int) -> range:
    """The dot rows (from the top) that connect the levels of two adjacent columns."""
    if level is None:
        return range(0)
    top, bottom = rows - 1 - level, rows - 1 - level
    if previous is not None and abs(previous - level) > 1:
        last = rows - 1 - previous
        top, bottom = (last + 1, bottom) if last < top else (top, last - 1)
    return range(top, bottom + 1)


def _spread(values: Sequence[float]) -> list[float]:
    """The values, or their logarithms if they are positive and span more than a factor of 50."""
    finite = [value for value in values if math.isfinite(value)]
    if finite and min(finite) > 0 and max(finite) > 50 * min(finite):
        return [math.log(value) if value > 0 else math.nan for value in values]
    return list(values)


def _distances(values: Sequence[float]) -> Sequence[float]:
    """Logarithms of the distances from the lowest value, from a hundredth of the range on, if more
    than half of the values would be on the lowest level; otherwise the values."""
    finite = [value for value in values if math.isfinite(value)]
    low, high = min(finite, default=0.0), max(finite, default=0.0)
    lowest_level = low + (high - low) / len(BLOCKS)
    if sum(value < lowest_level for value in finite) <= len(finite) / 2 or high == low:
        return values
    least = (high - low) / 100
    return [math.log(value - low + least) if math.isfinite(value) else value for value in values]


def _resample(values: Sequence[float], count: int) -> list[float]:
    """`count` values at even distances along the given ones, linearly interpolated."""
    if count <= 0 or not values:
        return []
    if len(values) == 1 or count == 1:
        return [values[-1]] * count
    step = (len(values) - 1) / (count - 1)
    return [_at(values, position * step) for position in range(count)]


def _at(values: Sequence[float], position: float) -> float:
    low = min(int(position), len(values) - 2)
    share = position - low
    if share == 0:
        return values[low]
    if share == 1:
        return values[low + 1]
    return values[low] * (1 - share) + values[low + 1] * share


def _to_levels(values: Sequence[float], count: int) -> list[int | None]:
    """Each value's level 0..count-1 between the lowest and the highest; None: not finite."""
    finite = [value for value in values if math.isfinite(value)]
    if not finite:
        return [None for _ in values]
    low, high = min(finite), max(finite)
    scale = (count - 1) / (high - low) if high > low else 0.0
    return [round((value - low) * scale) if math.isfinite(value) else None for value in values]
