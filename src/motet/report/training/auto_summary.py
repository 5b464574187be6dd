"""Decisions of a job under `--auto` as lines, and their outcomes as a table."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from motet.cruise.decision import LEAST_GAIN, TuningDecision, TuningReason
from motet.report.rendering.fitting_table import result_table
from motet.report.rendering.palette import QUIET_STYLE
from motet.report.rendering.quantities import bytes_text, count_text, duration_text
from motet.report.training.auto_document import UsedConfiguration, used_configurations
from motet.runtime.autotune.history import TuningHistory, TuningRecord

_WHY = {
    TuningReason.GAIN: "",
    TuningReason.BACK: "it was faster; ",
    TuningReason.DRAIN: "machines leave; ",
    TuningReason.RECOVER: "machines were lost; ",
}


def decision_line(record: TuningRecord) -> str:
    """`3 workers + 5 servers -> 5 + 3: predicted 4.1 s per epoch, 31 % less`."""
    decision = record.decision
    before = decision.before
    roles = f"{count_text(before.workers, 'worker')} + {count_text(before.servers, 'server')}"
    if decision.reason not in _WHY:
        noise = ", less than the noise" if decision.gain >= LEAST_GAIN else ""
        return f"{roles} stay: the best configuration would save {_percent(decision)}{noise}"
    after = f"-> {decision.after.workers} + {decision.after.servers}"
    if decision.after == before:
        after = "with other shares or machines"
    return f"{roles} {after}: {_WHY[decision.reason]}{_outlook(decision)}"


def _outlook(decision: TuningDecision) -> str:
    if decision.predicted_s is None:
        return "no prediction yet"
    word = "measured" if decision.reason is TuningReason.BACK else "predicted"
    outlook = f"{word} {_seconds(decision.predicted_s)} per epoch"
    return outlook if decision.measured_s is None else f"{outlook}, {_percent(decision)} less"


def _percent(decision: TuningDecision) -> str:
    return f"{max(100 * decision.gain, 0):.0f} %"


def configurations_table(history: TuningHistory) -> RenderableType:
    """A row per used configuration, in the order of time."""
    table = result_table()
    titles = ("workers", "servers", "epochs", "predicted", "measured", "error")
    for title in (*titles, "changed in", "moved", "stall"):
        table.add_column(title, justify="right", no_wrap=True)
    for used in used_configurations(history):
        table.add_row(*_cells(used))
    legend = (
        "Seconds of an epoch, predicted before the change and measured (mean ± standard deviation "
        "of epochs without a change)."
    )
    return Group(table, Text(f"{legend}{_left_out(history)}", style=QUIET_STYLE))


def _left_out(history: TuningHistory) -> str:
    record = history.decisions[-1] if history.decisions else None
    if record is None or record.decision.reason not in _WHY or record.report is not None:
        return ""
    after = record.decision.after
    return f" Training ended before {after.workers} + {after.servers} was reached."


def _cells(used: UsedConfiguration) -> list[str]:
    error, change = used.error, used.change
    costs = ["-", "-", "-"]
    if change is not None:
        moved = bytes_text(change.moved_bytes)
        costs = [duration_text(change.plan_s), moved, duration_text(change.stall_s)]
    return [
        str(used.roles.workers),
        str(used.roles.servers),
        str(used.epochs),
        "-" if used.predicted_s is None else _seconds(used.predicted_s),
        _measured(used),
        "-" if error is None else f"{100 * error:+.1f} %",
        *costs,
    ]


def _measured(used: UsedConfiguration) -> str:
    mean = _seconds(used.measured_s)
    return mean if used.sd_s is None else f"{mean} ± {_seconds(used.sd_s)}"


def _seconds(seconds: float) -> str:
    """Three digits, as many as predictions have."""
    return f"{1000 * seconds:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"
