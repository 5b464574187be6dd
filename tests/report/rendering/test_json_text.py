"""Documents are strictly valid JSON."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from motet.interfaces.cli.shell.streams.visible import visible_text
from motet.report.rendering.json_text import plain, to_json


def test_numbers_that_are_not_finite_are_null() -> None:
    assert plain([math.nan, math.inf, -math.inf, np.float64("nan"), 1.5]) == [*[None] * 4, 1.5]


def test_numpy_scalars_and_paths_become_plain_values() -> None:
    document = {"count": np.int64(3), "is_done": True, "folder": Path("a/b"), 1: (None, "ä")}

    assert json.loads(to_json(document)) == {
        "count": 3,
        "is_done": True,
        "folder": "a/b",
        "1": [None, "ä"],
    }


def test_the_text_is_indented_and_ends_with_a_newline() -> None:
    assert to_json({"a": ["ä"]}) == '{\n  "a": [\n    "ä"\n  ]\n}\n'


@pytest.mark.parametrize("text", ["\x1b[31m", "\x9b31m", "\x7f", "\u202eabc", "\u2028", "\ud800"])
def test_what_a_terminal_obeys_is_escaped(text: str) -> None:
    written = to_json({text: [text]})
    assert json.loads(written) == {text: [text]}
    assert visible_text(written) == written
    written.encode()
