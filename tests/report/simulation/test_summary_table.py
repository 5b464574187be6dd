"""The table of simulations: rows, intervals, and what is left out where there is no room."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from rich.console import Console
from scipy import stats

from motet.report.rendering.confidence import confidence_half_width
from motet.report.simulation.summary_table import simulation_summary

TIMES = {"mean": 8146.2, "median": 93.14, "p95": 15327.0, "p99": 16000.0, "max": 17000.0}


def document(policy: str = "fifo", **others: Any) -> dict[str, Any]:
    run = {
        "policy": policy,
        "jobs": 10,
        "finished": 10,
        "jct_s": TIMES,
        "queueing_delay_s": TIMES,
        "delay_causes_s": {"fair_share": 0.0, "fragmentation": 0.0, "policy_order": 9.0},
        "makespan_s": 20000.0,
        "gpu_utilization": 0.613,
        "preemptions": 0,
        "migrations": 0,
        "finish_time_fairness": {"mean": 1.0, "max": 6.07},
    }
    return {**run, **others}


def printed(*documents: dict[str, Any], width: int = 120) -> list[str]:
    console = Console(width=width, highlight=False)
    with console.capture() as captured:
        console.print(simulation_summary("10 jobs", documents, None))
    return [line.rstrip() for line in captured.get().splitlines()]


def headings(lines: list[str]) -> str:
    return next(line for line in lines if line.startswith("policy"))


def test_policies_stand_in_the_order_in_which_they_were_named() -> None:
    lines = printed(document("srtf"), document("fifo"))

    rows = [line.split() for line in lines if line.startswith("●")]
    assert rows[0] == ["●", "srtf", "8,146", "93.1", "15,327", "8,146", "20,000", "61%"]
    assert rows[1][1] == "fifo"


def test_the_fairness_of_one_policy_is_a_column_of_several_a_table() -> None:
    alone, both = printed(document()), printed(document(), document("srtf"))

    assert "max rho" in headings(alone)
    assert "max rho" not in headings(both)
    assert [line.split()[:3] for line in both if line.startswith("fairness")] == [
        ["fairness", "max", "rho"]
    ]


def test_quality_is_shown_where_jobs_learn() -> None:
    shares = {"highest_quarter": 0.6, "next_quarter": 0.22, "lowest_half": 0.18}
    quality = {
        "rescales": 1234,
        "average_normalised_loss": 0.0651,
        "time_to_90_s": 68.31,
        "time_to_95_s": 123.8,
        "gpu_share_by_loss": shares,
    }
    lines = printed(document(quality=quality))
    titles = next(number for number, line in enumerate(lines) if line.startswith("quality"))

    assert lines[titles + 2].split() == [
        *("●", "fifo", "0.065", "68.3", "123.8", "60/22/18", "%", "1,234")
    ]
    assert not any(line.startswith("quality") for line in printed(document()))


def test_what_is_zero_everywhere_has_no_column() -> None:
    plain = headings(printed(document()))
    eventful = headings(printed(document(finished=9), document("srtf", preemptions=3)))

    assert ("preempted" in plain, "left" in plain) == (False, False)
    assert ("preempted" in eventful, "left" in eventful) == (True, True)


def test_causes_of_delay_are_shown_when_there_are_several() -> None:
    causes = {"fair_share": 0.0, "fragmentation": 1.0, "policy_order": 9.0}
    lines = printed(document(delay_causes_s=causes))

    assert "by fragm." in headings(lines)
    assert "10%" in lines[4]


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_legend_explains_the_columns_that_are_there(width: int) -> None:
    lines = printed(document(finished=9), width=width)
    legend = " ".join(lines[lines.index("") :])
    explained = {
        title
        for title in ("left", "delay", "used", "makespan", "max rho")
        if f"{title}: " in legend
    }

    assert explained == {
        title
        for title in ("left", "delay", "used", "makespan", "max rho")
        if title in headings(lines)
    }


@pytest.mark.parametrize("width", [60, 72, 80, 100])
def test_a_narrow_terminal_gets_fewer_columns_and_whole_numbers(width: int) -> None:
    lines = printed(document("tiresias-gittins", preemptions=12345), width=width)

    assert max(map(len, lines)) <= width
    assert "…" not in "".join(lines)
    assert "JCT mean" in headings(lines)


def test_the_interval_is_students() -> None:
    values = [3.0, 5.0, 9.0, 4.0]
    low, high = stats.t.interval(0.95, 3, np.mean(values), stats.sem(values))

    assert confidence_half_width(values) == pytest.approx((high - low) / 2)
