"""`make test` draws the same examples in every run."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

EXAMPLES = 300


def drawn() -> list[int]:
    """The examples of a property test."""
    seen: list[int] = []

    @settings(max_examples=EXAMPLES, derandomize=True, database=None)
    @given(st.integers())
    def draws(number: int) -> None:
        seen.append(number)

    draws()
    return seen


def test_a_module_that_was_loaded_before_changes_no_example(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = drawn()
    path = tmp_path / "full_of_constants.py"
    path.write_text(f"CONSTANTS = {[number * 7919 for number in range(20, 400)]}\n")
    spec = importlib.util.spec_from_file_location("full_of_constants", path)
    assert spec is not None
    monkeypatch.setitem(sys.modules, "full_of_constants", importlib.util.module_from_spec(spec))
    assert drawn() == before
