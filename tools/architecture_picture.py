"""Write the pictures of docs/architecture.md from the import graph and the contracts' layers.

    python tools/architecture_picture.py

A row is a layer of an import-linter contract in pyproject.toml, a box is a package, an arrow is a
direct import. An import that a chain of other arrows implies is not drawn (transitive reduction).
Every arrow is vertical: `architecture_boxes.py` gives each package its columns; a package without
columns and an arrow that would cross a box are errors.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path

import grimp

from architecture_boxes import COLOURS, PICTURES, Box, Picture

REPOSITORY = Path(__file__).resolve().parents[1]
COMMAND = "make architecture"

UNIT, ROW, BOX_HEIGHT = 34, 82, 62
MARGIN, NUMBER_WIDTH, GAP, KEY_HEIGHT = 6, 24, 5, 34
ARROW_DISTANCE = 14
CHARACTER_WIDTHS = {"name": 9.4, "caption": 6.8, "systems": 7.4}
STYLE = """\
text { font-family: system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif }
.name { font-size: 15px; font-weight: 600; fill: #1b2430 }
.caption { font-size: 11.5px; fill: #3d4957 }
.systems { font-size: 11.5px; font-weight: 600; fill: #9a3412 }
.number, .key { font-size: 11.5px; fill: #7d8896 }
.arrow { stroke: #7d8896; stroke-width: 1.6; fill: none; marker-end: url(#head) }"""

ARROW_HEAD = (
    '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" '
    'markerHeight="6" orient="auto"><path d="M0 0 L8 4 L0 8 z" fill="#7d8896"/></marker></defs>'
)


@dataclass(frozen=True)
class Arrow:
    """A drawn import: from the bottom of one box to the top of a lower one, at `x` pixels."""

    importer: str
    imported: str
    x: float


Edge = tuple[str, str]
Rows = dict[str, int]


def rows_of(root: str) -> Rows:
    """The layer of every package below `root` in the contract of type `layers`, top layer first."""
    tables = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = tables["tool"]["importlinter"]["contracts"]
    [layers] = [entry["layers"] for entry in contracts if entry.get("containers") == [root]]
    return {
        package.strip(): row for row, layer in enumerate(layers) for package in layer.split("|")
    }


def imports_between(root: str, packages: Rows) -> set[Edge]:
    """The pairs of packages below `root` of which the first imports something of the second."""
    graph = grimp.build_graph("motet", cache_dir=None)
    modules = {
        name: {f"{root}.{name}"} | graph.find_descendants(f"{root}.{name}") for name in packages
    }
    imported = {
        name: {used for one in ours for used in graph.find_modules_directly_imported_by(one)}
        for name, ours in modules.items()
    }
    return {
        (one, other)
        for one in packages
        for other in packages
        if one != other and imported[one] & modules[other]
    }


def reduced(edges: set[Edge]) -> list[Edge]:
    """The edges without those that a longer path replaces."""

    def reaches(start: str, end: str) -> bool:
        return any(middle == end or reaches(middle, end) for one, middle in edges if one == start)

    return sorted(
        (one, other)
        for one, other in edges
        if not any(reaches(middle, other) for start, middle in edges if start == one)
    )


def left_of(box: Box) -> float:
    """The x of a box's left side, in pixels."""
    return NUMBER_WIDTH + MARGIN + box.left * UNIT + GAP


def right_of(box: Box) -> float:
    """The x of a box's right side, in pixels."""
    return NUMBER_WIDTH + MARGIN + box.right * UNIT - GAP


def top_of(row: int) -> int:
    """The y of the upper side of a row's boxes, in pixels."""
    return MARGIN + row * ROW


def arrows_of(picture: Picture, rows: Rows, edges: list[Edge]) -> list[Arrow]:
    """A free vertical line for every edge, short ones first; those of `picture.behind` last.

    Raises ValueError if a box or another arrow is in the way of every such line.
    """
    drawn: list[Arrow] = []
    order = sorted(
        edges, key=lambda edge: (edge in picture.behind, rows[edge[1]] - rows[edge[0]], edge)
    )
    for edge in order:
        drawn.append(Arrow(*edge, free_x(picture, rows, edge, drawn)))
    return drawn


def free_x(picture: Picture, rows: Rows, edge: Edge, drawn: list[Arrow]) -> float:
    """The free x for `edge` that is nearest to the middle of the narrower of its two boxes."""
    ends = [picture.boxes[name] for name in edge]
    narrower = min(ends, key=lambda box: box.right - box.left)
    middle = (left_of(narrower) + right_of(narrower)) / 2
    first = max(left_of(box) for box in ends) + ARROW_DISTANCE
    last = min(right_of(box) for box in ends) - ARROW_DISTANCE
    candidates = [middle + step for offset in range(1000) for step in (-offset, offset)]
    for x in candidates:
        if first <= x <= last and not is_blocked(picture, rows, edge, drawn, x):
            return x
    raise ValueError(
        f"{edge[0]} -> {edge[1]}: no vertical line is free; change columns in architecture_boxes.py"
    )


def is_blocked(picture: Picture, rows: Rows, edge: Edge, drawn: list[Arrow], x: float) -> bool:
    """Whether a box between the two rows of `edge`, or a drawn arrow, is at `x`."""
    upper, lower = rows[edge[0]], rows[edge[1]]
    between = [box for name, box in picture.boxes.items() if upper < rows[name] < lower]
    boxes = [] if edge in picture.behind else between
    beside = [
        arrow for arrow in drawn if rows[arrow.importer] < lower and upper < rows[arrow.imported]
    ]
    return any(left_of(box) - GAP < x < right_of(box) + GAP for box in boxes) or any(
        abs(arrow.x - x) < ARROW_DISTANCE for arrow in beside
    )


def svg_of(picture: Picture) -> str:
    """The picture as the text of an SVG file."""
    rows = rows_of(picture.root)
    if set(rows) != set(picture.boxes):
        raise ValueError(
            f"{picture.file}: boxes and contract differ in {sorted(set(rows) ^ set(picture.boxes))}"
        )
    arrows = arrows_of(picture, rows, reduced(imports_between(picture.root, rows)))
    width = 2 * MARGIN + NUMBER_WIDTH + UNIT * max(box.right for box in picture.boxes.values())
    height = top_of(max(rows.values())) + BOX_HEIGHT + KEY_HEIGHT + MARGIN
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img">',
        f"<title>{escape(picture.title)}</title>",
        f"<style>\n{STYLE}\n</style>",
        ARROW_HEAD,
        *number_lines(rows),
        *(line for arrow in arrows for line in arrow_lines(arrow, rows)),
        *(line for name, box in picture.boxes.items() for line in box_lines(name, box, rows[name])),
        *key_lines(picture, y=height - MARGIN - 12),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def number_lines(rows: Rows) -> Iterator[str]:
    """The number of every layer, the lowest one being 1, left of its boxes."""
    layers = sorted(set(rows.values()))
    for row in layers:
        y = top_of(row) + BOX_HEIGHT / 2 + 4
        yield f'<text class="number" x="{MARGIN}" y="{y:g}">{len(layers) - row}</text>'


def arrow_lines(arrow: Arrow, rows: Rows) -> Iterator[str]:
    """One arrow."""
    begin, end = top_of(rows[arrow.importer]) + BOX_HEIGHT, top_of(rows[arrow.imported]) - 1
    yield f'<path class="arrow" d="M{arrow.x:g} {begin} V{end}"/>'


def box_lines(name: str, box: Box, row: int) -> Iterator[str]:
    """A box with the package's name, its caption and the systems that it implements."""
    captions = [("caption", box.caption)] if box.caption else []
    texts = [("name", f"{name}/"), *captions, *(("systems", line) for line in box.systems)]
    left, width, top = left_of(box), right_of(box) - left_of(box), top_of(row)
    fill, stroke = COLOURS[box.kind]
    yield (
        f'<rect x="{left:g}" y="{top}" width="{width:g}" height="{BOX_HEIGHT}" rx="7" '
        f'fill="{fill}" stroke="{stroke}"/>'
    )
    baseline = top + BOX_HEIGHT / 2 + 5 - 8 * (len(texts) - 1)
    for place, (kind, text) in enumerate(texts):
        needed = len(text) * CHARACTER_WIDTHS[kind]
        if needed > width:
            raise ValueError(f"{name}: {text!r} needs {needed:.0f} pixels of {width:.0f}")
        y = baseline + 16 * place
        yield (
            f'<text class="{kind}" x="{left + width / 2:g}" y="{y:g}" '
            f'text-anchor="middle">{escape(text)}</text>'
        )


def key_lines(picture: Picture, y: float) -> Iterator[str]:
    """What the colours mean, in one line."""
    x: float = NUMBER_WIDTH + MARGIN + GAP
    for kind in dict.fromkeys(box.kind for box in picture.boxes.values()):
        fill, stroke = COLOURS[kind]
        yield (
            f'<rect x="{x:g}" y="{y:g}" width="16" height="12" rx="3" '
            f'fill="{fill}" stroke="{stroke}"/>'
        )
        yield f'<text class="key" x="{x + 22:g}" y="{y + 10:g}">{escape(kind)}</text>'
        x += 54 + len(kind) * CHARACTER_WIDTHS["caption"]


def main() -> None:
    """Write every picture."""
    for picture in PICTURES:
        (REPOSITORY / picture.file).write_text(svg_of(picture), encoding="utf-8")


if __name__ == "__main__":
    main()
