"""Operations of a file as values, chosen by the layout of their time."""

from __future__ import annotations

from typing import Any

import pytest

from motet.domain.errors import BadInput
from motet.domain.reconfiguration import Add, Delete, Move, Operation, Switch
from motet.interfaces.cli.train.reconfigure_entry import ReconfigureEntry
from motet.interfaces.cli.train.reconfigure_operations import planner_of_operations
from motet.runtime.elastic.layout import JobLayout
from motet.runtime.elastic.role_placement import RolePlacement

LAYOUT = JobLayout.even(RolePlacement((0, 1), (3, 4)), model_blocks=16, data_blocks=12)


def operations(*items: dict[str, Any]) -> tuple[Operation, ...]:
    listed = [{**item, "__line__": line} for line, item in enumerate(items, start=1)]
    entry = ReconfigureEntry("plan.yaml:9", {"operations": listed})
    return planner_of_operations(entry)(LAYOUT, range(5)).operations


@pytest.mark.parametrize(
    ("item", "operation"),
    [
        ({"add": 2, "role": "server"}, Add(2, "server")),
        ({"delete": 0}, Delete(0)),
        ({"delete": 0, "role": "worker"}, Delete(0, "worker")),
        ({"switch": 0, "role": "server"}, Switch(0, "server")),
        ({"move": [0, 1], "of": "model", "from": 3, "to": 4}, Move("model", (0, 1), 3, 4)),
        ({"move": 2, "of": "data", "from": 0, "to": 1}, Move("data", (8, 10), 0, 1)),
    ],
)
def test_every_kind_of_operation_is_understood(item: dict[str, Any], operation: Operation) -> None:
    assert operations(item) == (operation,)


def test_a_number_of_blocks_is_taken_from_the_layout_after_the_operations_above() -> None:
    move = {"move": 2, "of": "data", "from": 0, "to": 1}
    assert operations(move, move) == (Move("data", (8, 10), 0, 1), Move("data", (4, 6), 0, 1))


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ({"add": 2, "delete": 1}, "plan.yaml:1: an operation is one of add, delete, switch"),
        ({"switch": 0}, "plan.yaml:1: role is None; use worker or server"),
        ({"move": 1, "of": "rows", "from": 0, "to": 1}, "of is 'rows'; use model or data"),
        ({"move": [-1], "of": "data", "from": 0, "to": 1}, r"move lists \[-1\]; give numbers"),
        ({"move": 7, "of": "data", "from": 0, "to": 1}, "executor 0 has 6 data block"),
        ({"add": 9, "role": "worker"}, "plan.yaml:1: there is no machine 9"),
    ],
)
def test_an_error_names_the_line_of_its_operation(item: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        operations(item)
