"""What Harmony's schedules gave is kept as soon as each has ended, and told as against others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from support.hosts import ROOT
from support.records import Record
from support.schedule_outcomes import (
    PAPER,
    Outcome,
    Prediction,
    Profile,
    draw_traces,
    outcome_figures,
    outcomes_in,
    profiles_in,
    write_profiles,
)
from support.schedule_page import section
from support.schedule_stays import EpochTimes, StayTimes

PROFILE = Profile("nmf 1", 0.4, 0.2, 0.1, 0.1, 0.7, 2, 50 << 20)


def outcome(name: str, ends_s: list[float], stopped_s: float = 0.0) -> Outcome:
    """Of two jobs; under all schedules but `isolated` the second one was on two pairs, too."""
    trace = [[2.0, 0.5, 0.25], [4.0, 0.7, 0.35]]
    predicted = Prediction(10.0, 22.0)
    common = (0.6, 0.3, 3.0, 2, stopped_s, 1.5, 0.0, [100, 120], ["a", name])
    is_isolated = name == "isolated"
    pairs, losses = (
        [[1], [1] if is_isolated else [1, 2]],
        [0.5, 0.25 if is_isolated else 0.25 + 1e-9],
    )
    models = losses, pairs, 0.25
    simulated = Prediction(5.0, 11.0 if is_isolated else 5.5), predicted, None
    stays = [
        StayTimes(0, (0,), 0.0, 3.0, ends_s[0], [EpochTimes(4.0, 2, *[0.5] * 7)]),
        StayTimes(1, (0, 1), 1.0, None, ends_s[-1], []),
    ]
    return Outcome(
        name, ends_s, *common, *models, *simulated, trace, "0.1, 0.1, 0.1", [0.5, 0.1], 0, stays
    )


def test_schedules_that_have_ended_are_read_back(tmp_path: Path) -> None:
    written = [outcome("isolated", [10.0, 20.0]), outcome("grouping", [5.0, 10.0])]
    for each in written:
        each.write(tmp_path)
    found = outcomes_in(tmp_path, ["isolated", "subtasks", "grouping"])
    assert list(found.values()) == written


def test_times_are_as_against_isolated() -> None:
    both = {
        each.name: each
        for each in (outcome("isolated", [10.0, 20.0]), outcome("grouping", [4.0, 10.0], 1.0))
    }
    found = {figure.name: figure for figure in outcome_figures(both, 0.2)}
    assert found["grouping: JCT"].ratio == pytest.approx(15.0 / 7.0)
    assert found["grouping: makespan"].ratio == pytest.approx(2.0)
    assert found["grouping: makespan"].target == 1.35
    assert found["grouping: regrouping"].ratio == pytest.approx(1.0 / 2 / 10.0)
    assert found["grouping: models as isolated, to the bit"].measured == "1 of 1"
    assert found["grouping: losses as isolated, relative"].ratio == pytest.approx(4e-9)
    assert found["isolated: simulated makespan, steps alone"].ratio == pytest.approx(0.1)


def test_traces_are_drawn(tmp_path: Path) -> None:
    draw_traces({"isolated": outcome("isolated", [1.0])}, tmp_path / "traces.png")
    assert (tmp_path / "traces.png").read_bytes().startswith(b"\x89PNG")


def test_profiles_are_read_back(tmp_path: Path) -> None:
    assert profiles_in(tmp_path) == []
    write_profiles(tmp_path, [PROFILE])
    assert profiles_in(tmp_path) == [PROFILE]


def test_the_page_has_ratios_beside_those_of_the_paper() -> None:
    names = {"isolated": [10.0, 20.0], "grouping": [4.0, 10.0]}
    text = section(
        {name: outcome(name, ends) for name, ends in names.items()}, [PROFILE], "hosts", 0.2
    )
    row = next(line for line in text.splitlines() if line.startswith("| grouping | 2.14"))
    assert row.startswith("| grouping | 2.14 | 2.00 | 1.72 | 1.35 | 60% | 30% | 1.5 |")
    assert "| grouping | 1.00 | 2.00 | 1.00 | 1.00 | 2.14 | 2.00 | 1.72 | 1.35 |" in text
    assert "| grouping | 2 | 0.0% | 3.0 s | 0.0 s | +43% | +120% |  |  | 0.25 |" in text
    assert "| grouping | 1 | 1 | 1 | 4e-09 |" in text


@pytest.mark.parametrize("name", ["subtasks", "grouping", "reloading"])
def test_the_ratios_on_the_first_page_are_those_of_the_record(name: str) -> None:
    record = Record.read("harmony_testbed_schedules")
    ratios = (record.ratio(f"{name}: {key}") for key in ("JCT", "makespan"))
    row = " | ".join(f"{each:.2f}" for each in (*ratios, *PAPER[name]))
    assert f"| {name} | {row} |" in (ROOT / "docs/systems/harmony.md").read_text(encoding="utf-8")


def test_models_of_reloading_are_those_in_sections() -> None:
    whole, parts = (outcome(name, [1.0, 1.0]) for name in ("isolated", "sections"))
    reloading = replace(whole, name="reloading", models=parts.models)
    names = ("isolated", "sections", "reloading")
    found = dict(zip(names, (whole, parts, reloading), strict=True))
    verdicts = {each.name: each.verdict for each in outcome_figures(found, 0.2)}
    assert verdicts["reloading: models as sections, to the bit"] == "ok"
    assert "sections: models as isolated, to the bit" not in verdicts


def test_the_page_divides_the_mean_jct() -> None:
    found = {"isolated": outcome("isolated", [10.0, 20.0])}
    lines = section(found, [PROFILE], "hosts", 0.2).splitlines()
    row = "| isolated | 0.5 | 11.0 | 0.2 | 0.2 | 0.2 | 0.2 | 0.2 | -1.0 | 0.2 | 3.0 |"
    assert row in lines


def test_a_model_that_differs_with_the_same_workers_is_told() -> None:
    isolated = outcome("isolated", [1.0, 1.0])
    lost = replace(isolated, name="subtasks", models=["b", "isolated"])
    assert lost.same_models(isolated) == (1, 2, 0.0)
    found = {
        each.name: each for each in outcome_figures({"isolated": isolated, "subtasks": lost}, 0.2)
    }
    assert found["subtasks: models as isolated, to the bit"].verdict == "MISS"
