"""Fields of an entry are checked when they are read, and errors name their line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from motet.domain.errors import BadInput
from motet.interfaces.cli.train.reconfigure_entry import ReconfigureEntry, read_entries


def entry(**fields: Any) -> ReconfigureEntry:
    return ReconfigureEntry("plan.yaml:7", fields)


@pytest.mark.parametrize("value", [True, 1.0, "1", None, -1])
def test_only_whole_numbers_from_the_least_one_are_whole_numbers(value: object) -> None:
    assert entry(add=3).whole_number("add", least=3) == 3
    with pytest.raises(BadInput, match=r"plan.yaml:7: add is .*; give a whole number from 0"):
        entry(add=value).whole_number("add")


@pytest.mark.parametrize("value", [True, "1", -0.1, 1e9, float("nan"), float("inf")])
def test_only_finite_numbers_from_zero_are_seconds(value: object) -> None:
    assert entry(at_s=2).seconds("at_s") == 2.0
    with pytest.raises(BadInput, match=r"plan.yaml:7: at_s is .*; give seconds from 0"):
        entry(at_s=value).seconds("at_s")


@pytest.mark.parametrize("value", [True, "0.2", float("nan")])
def test_a_number_that_is_given_must_be_one(value: object) -> None:
    assert entry().optional_number("predicted_gain", "0.2") is None
    assert entry(predicted_gain=-1).optional_number("predicted_gain", "0.2") == -1
    with pytest.raises(BadInput, match=r"predicted_gain is .*; give a number such as 0\.2"):
        entry(predicted_gain=value).optional_number("predicted_gain", "0.2")


def test_a_choice_is_one_of_the_known_words() -> None:
    assert entry(role="worker").choice("role", ("worker", "server")) == "worker"
    with pytest.raises(BadInput, match="role is 'boss'; use worker or server"):
        entry(role="boss").choice("role", ("worker", "server"))


def test_unknown_fields_are_refused() -> None:
    entry(add=1, role="worker").check_keys(("add", "role"))
    with pytest.raises(BadInput, match="'rol' is unknown here; use add, role"):
        entry(add=1, rol="worker").check_keys(("add", "role"))


def test_every_mapping_has_the_line_where_it_begins(tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text("- at_epoch: 1\n\n- at_epoch: 2\n  operations:\n  - {add: 3}\n")
    first, second = read_entries(path)
    assert (first.place, second.place) == (f"{path}:1", f"{path}:3")
    (operation,) = second.entries("operations")
    assert operation == ReconfigureEntry(f"{path}:5", {"add": 3})
