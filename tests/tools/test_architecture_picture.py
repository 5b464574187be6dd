from __future__ import annotations

from dataclasses import replace

import pytest

from architecture_boxes import PICTURES, TRAINING, Box, Picture
from architecture_picture import arrows_of, box_lines, reduced, right_of, svg_of

ROWS = {"top": 0, "middle": 1, "bottom": 2}


def stacked(**columns: tuple[int, int]) -> Picture:
    boxes = {name: Box(*ends, TRAINING, "caption") for name, ends in columns.items()}
    return Picture("stacked.svg", "stacked", "stacked", boxes)


def test_an_import_that_a_chain_implies_is_not_drawn() -> None:
    edges = {("top", "middle"), ("middle", "bottom"), ("top", "bottom")}
    assert reduced(edges) == [("middle", "bottom"), ("top", "middle")]


def test_arrows_pass_beside_the_boxes_between_their_ends() -> None:
    picture = stacked(top=(0, 8), middle=(0, 4), bottom=(0, 8))
    [arrow] = arrows_of(picture, ROWS, [("top", "bottom")])
    assert right_of(picture.boxes["middle"]) < arrow.x < right_of(picture.boxes["top"])


def test_an_arrow_that_would_cross_a_box_is_an_error() -> None:
    picture = stacked(top=(0, 8), middle=(0, 8), bottom=(0, 8))
    with pytest.raises(ValueError, match="top -> bottom: no vertical line is free"):
        arrows_of(picture, ROWS, [("top", "bottom")])


def test_two_arrows_do_not_share_a_line() -> None:
    picture = stacked(top=(0, 4), middle=(0, 4), bottom=(0, 4))
    rows = {"top": 0, "middle": 0, "bottom": 1}
    first, second = arrows_of(picture, rows, [("top", "bottom"), ("middle", "bottom")])
    assert abs(first.x - second.x) >= 14


def test_a_package_without_columns_is_an_error() -> None:
    picture = PICTURES[0]
    without = {name: box for name, box in picture.boxes.items() if name != "engine"}
    with pytest.raises(ValueError, match=r"boxes and contract differ in \['engine'\]"):
        svg_of(replace(picture, boxes=without))


def test_a_text_that_is_wider_than_its_box_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"engine: 'a long caption for a box' needs \d+ pixels"):
        list(box_lines("engine", Box(0, 4, TRAINING, "a long caption for a box"), 0))
