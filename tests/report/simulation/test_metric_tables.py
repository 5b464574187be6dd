"""Tables of fairness and quality."""

from __future__ import annotations

import math
from typing import Any

import pytest
from rich.console import Console

from motet.interfaces.cli.simulate.compare_command import compare_command
from motet.report.simulation.comparison_tables import JCT
from motet.report.simulation.group_estimates import Estimate, GroupEstimates
from motet.report.simulation.metric_tables import (
    FAIRNESS_TABLE,
    METRIC_TABLES,
    QUALITY_TABLE,
    MetricTable,
    ratio_text,
)


def document(seed: int = 0, **changes: Any) -> dict[str, Any]:
    fairness = {"mean": 1.08, "max": 3.8, "jain": 0.84, "within_share": 0.48, "worst": "search-9"}
    quality = {
        "average_normalised_loss": 0.0342,
        "time_to_90_s": 22.8,
        "time_to_95_s": 44.1,
        "rescales": 4767,
        "gpu_share_by_loss": {"highest_quarter": 0.6, "next_quarter": 0.22, "lowest_half": 0.18},
    }
    return {"seed": seed, "finish_time_fairness": fairness | changes, "quality": quality}


def printed(table: MetricTable, *groups: GroupEstimates, width: int = 120) -> list[str]:
    console = Console(width=width, highlight=False)
    with console.capture() as captured:
        console.print(table.rendered(groups))
    return [line.rstrip() for line in captured.get().splitlines()]


def rows(table: MetricTable, *groups: GroupEstimates) -> list[list[str]]:
    return [line.split() for line in printed(table, *groups) if line.startswith("●")]


def test_alone_a_run_has_values_and_no_ratios() -> None:
    one = GroupEstimates("themis", [document()])

    assert rows(FAIRNESS_TABLE, one) == [
        ["●", "themis", "3.80", "1.08", "0.84", "48%", "search-9"],
    ]
    assert rows(QUALITY_TABLE, one) == [
        ["●", "themis", "0.034", "22.8", "44.1", "60/22/18", "%", "4,767"]
    ]


def test_ratios_stand_beside_the_values_that_they_are_of() -> None:
    before, after = document(max=1.9), document()
    (row,) = rows(FAIRNESS_TABLE, GroupEstimates("las", [after], [(before, after)]))

    assert row[2:6] == ["3.80", "2.00", "1.08", "1.00"]


def test_of_several_seeds_the_worst_experiment_is_named_with_its_seed() -> None:
    seeds = [document(0, max=2.0, worst="a"), document(7, max=9.0, worst="b")]
    (row,) = rows(FAIRNESS_TABLE, GroupEstimates("themis", seeds))

    assert row[-3:] == ["b,", "seed", "7"]


def test_what_is_not_known_is_a_dash() -> None:
    old = {"seed": 0, "finish_time_fairness": {"mean": 1.0, "max": 2.0, "jain": 0.5}}

    assert rows(FAIRNESS_TABLE, GroupEstimates("old", [old]))[0][2:] == [
        "2.00",
        "1.00",
        "0.50",
        "-",
        "-",
    ]
    assert rows(QUALITY_TABLE, GroupEstimates("old", [old]))[0][2:] == ["-"] * 5
    assert FAIRNESS_TABLE.has_values([GroupEstimates("old", [old])])
    assert not QUALITY_TABLE.has_values([GroupEstimates("old", [old])])


@pytest.mark.parametrize("table", METRIC_TABLES, ids=lambda table: table.name)
@pytest.mark.parametrize("width", [60, 80, 120])
def test_tables_are_never_wider_than_the_terminal(table: MetricTable, width: int) -> None:
    pairs = [(document(seed, max=1.0 + seed), document(seed)) for seed in range(3)]
    group = GroupEstimates("tiresias-gittins", [after for _, after in pairs], pairs)
    lines = printed(table, group, width=width)

    assert max(map(len, lines)) <= width
    assert "…" not in "".join(lines)


def test_small_ratios_have_a_digit_more() -> None:
    ratios = [Estimate(0.3, 0.061), Estimate(0.037, 0.005), Estimate(1.0, 0.0), Estimate(2.0, None)]

    assert list(map(ratio_text, ratios)) == ["0.30 ±0.06", "0.037 ±0.005", "1.00", "2.00"]
    assert ratio_text(Estimate(math.nan, None)) == "-"


def test_every_table_can_be_asked_for() -> None:
    (option,) = (each for each in compare_command.params if each.name == "views")
    assert list(option.type.choices) == [JCT, *(table.name for table in METRIC_TABLES)]  # type: ignore[attr-defined]
