"""Reports of a job under `--auto`: values, lines, a table, a figure."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from motet.cruise.decision import TuningDecision, TuningReason
from motet.domain.reconfiguration import RoleCounts
from motet.report.rendering.json_text import to_json
from motet.report.training.auto_document import (
    DECISION_COLUMNS,
    EPOCH_COLUMNS,
    auto_document,
    decision_rows,
    epoch_rows,
    used_configurations,
)
from motet.report.training.auto_figure import auto_figure
from motet.report.training.auto_summary import configurations_table, decision_line
from motet.runtime.autotune.history import EpochRecord, TuningHistory, TuningRecord
from motet.runtime.core.reporting.reports import ReconfigurationReport

START, THEN = RoleCounts(3, 5), RoleCounts(5, 3)
REPORT = ReconfigurationReport(2, START, THEN, 0.3, 3.5, 4, 7_900_000, 0.27)


def decision(reason: TuningReason, gain: float, changes: bool) -> TuningDecision:
    before, after = RoleCounts(3, 5), RoleCounts(5, 3)
    return TuningDecision(reason, before, after if changes else before, 8, 6.0, 4.1, gain)


@pytest.fixture
def history() -> TuningHistory:
    """Two epochs at the start, one with the change, three afterwards."""
    decisions = [TuningRecord(2, 12.5, decision(TuningReason.GAIN, 0.31, changes=True), REPORT)]
    decisions.append(
        TuningRecord(6, 30.0, decision(TuningReason.TOO_LITTLE_GAIN, 0.01, changes=False))
    )
    epochs = [EpochRecord(n, 6.0 * n + 6, START, None, 6.0 + n, True) for n in range(2)]
    epochs.append(EpochRecord(2, 17.0, THEN, 4.1, 5.0, False))
    epochs += [EpochRecord(n, 5.0 + 4 * n, THEN, 4.1, 4.0 + 0.1 * n, True) for n in (3, 4, 5)]
    return TuningHistory(decisions, epochs)


def test_a_configuration_is_measured_by_the_epochs_in_which_nothing_changed(
    history: TuningHistory,
) -> None:
    start, then = used_configurations(history)
    assert (start.roles, start.epochs, start.measured_s, start.error) == (START, 2, 6.5, None)
    assert start.change is None
    assert (then.roles, then.first_epoch, then.epochs, then.change) == (THEN, 3, 3, REPORT)
    assert then.measured_s == pytest.approx(4.4)
    assert then.sd_s == pytest.approx(0.1)
    assert then.error == pytest.approx(4.1 / 4.4 - 1)


def test_the_document_has_every_decision_configuration_and_epoch(history: TuningHistory) -> None:
    document = auto_document(history)
    to_json(document)
    first, second = document["decisions"]
    assert (first["reason"], first["to"]) == ("gain", {"workers": 5, "servers": 3})
    assert (first["plan_s"], first["moved_bytes"], first["stall_s"]) == (3.5, 7_900_000, 0.27)
    assert (second["reason"], second["to"], second["plan_s"]) == (
        "too_little_gain",
        {"workers": 3, "servers": 5},
        None,
    )
    assert [each["first_epoch"] for each in document["configurations"]] == [1, 4]
    assert [each["steady"] for each in document["epochs"]] == [True, True, False, True, True, True]


def test_tables_have_a_value_for_every_column(history: TuningHistory) -> None:
    assert {len(row) for row in epoch_rows(history)} == {len(EPOCH_COLUMNS)}
    rows = [dict(zip(DECISION_COLUMNS, row, strict=True)) for row in decision_rows(history)]
    assert (rows[0]["from_workers"], rows[0]["to_servers"]) == (3, 3)


@pytest.mark.parametrize(
    ("reason", "gain", "changes", "line"),
    [
        (
            TuningReason.GAIN,
            0.31,
            True,
            "3 workers + 5 servers -> 5 + 3: predicted 4.1 s per epoch, 31 % less",
        ),
        (
            TuningReason.BACK,
            0.31,
            True,
            "3 workers + 5 servers -> 5 + 3: it was faster; measured 4.1 s per epoch, 31 % less",
        ),
        (
            TuningReason.TOO_LITTLE_GAIN,
            0.02,
            False,
            "3 workers + 5 servers stay: the best configuration would save 2 %",
        ),
        (
            TuningReason.TOO_LITTLE_GAIN,
            0.07,
            False,
            "3 workers + 5 servers stay: the best configuration would save 7 %, less than the "
            "noise",
        ),
    ],
)
def test_a_decision_is_a_line(reason: TuningReason, gain: float, changes: bool, line: str) -> None:
    assert decision_line(TuningRecord(0, 0.0, decision(reason, gain, changes))) == line


def test_other_shares_for_the_same_numbers_are_named() -> None:
    same = TuningDecision(TuningReason.GAIN, RoleCounts(3, 1), RoleCounts(3, 1), 4, 6.0, 4.1, 0.31)
    line = (
        "3 workers + 1 server with other shares or machines: predicted 4.1 s per epoch, 31 % less"
    )
    assert decision_line(TuningRecord(0, 0.0, same)) == line


def test_the_table_compares_predicted_with_measured(history: TuningHistory) -> None:
    out = io.StringIO()
    Console(file=out, width=100).print(configurations_table(history))
    row = next(line for line in out.getvalue().splitlines() if "4.1 s" in line)
    assert " ".join(row.split()) == "5 3 3 4.1 s 4.4 s ± 100 ms -6.8 % 3.5 s 7.9 MB 0.3 s"


def test_the_figure_shows_predictions_beside_measurements_and_marks_the_change(
    history: TuningHistory,
) -> None:
    upper, lower = auto_figure(history, "a job", "on data").axes
    predicted = [line for line in upper.get_lines() if set(line.get_ydata()) == {4.1}]
    assert list(predicted[0].get_xdata()) == [12.0, 17.0]
    assert len(predicted) == 4
    assert any(set(line.get_xdata()) == {12.5} for line in upper.get_lines())
    workers = next(line for line in lower.get_lines() if line.get_label() == "workers")
    assert list(workers.get_ydata()) == [3, 3, 3, 5, 5, 5, 5]


def test_a_run_without_an_epoch_can_be_reported() -> None:
    auto_figure(TuningHistory(), "a job", "on data")
    assert auto_document(TuningHistory()) == {"decisions": [], "configurations": [], "epochs": []}


def test_a_change_that_training_did_not_wait_for_is_reported(history: TuningHistory) -> None:
    assert "was reached" not in printed(history)
    history.decisions.append(TuningRecord(6, 31.0, decision(TuningReason.GAIN, 0.2, changes=True)))
    assert "Training ended before 5 + 3 was reached." in printed(history)


def printed(history: TuningHistory) -> str:
    console = Console(file=io.StringIO(), width=200)
    console.print(configurations_table(history))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()
