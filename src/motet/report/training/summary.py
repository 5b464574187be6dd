"""Summary of a finished training run that `motet train` prints."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from motet.report.rendering.palette import QUIET_STYLE
from motet.report.rendering.quantities import bytes_text, count_text, duration_text, number_text
from motet.report.rendering.text_plot import sparkline
from motet.report.training.document import TrainDocument
from motet.runtime.core.convergence import Convergence
from motet.runtime.core.reporting.reports import Help

SPARK_WIDTH = 30
MOST_HELPERS = 3
_TOLD_REST, _TOLD_REST_S = 0.25, 1.0
"""Part of the time of a command, and seconds, from which time in neither epochs nor start-up is
told."""


def train_summary(
    document: TrainDocument, out: Path | None, colour: str, startup_s: float
) -> RenderableType:
    """Loss, metrics, times, bytes and the folder of the files.

    `startup_s`: from the start of the command to the start of training; NaN if nothing was trained.
    """
    table = Table.grid(padding=(0, 2))
    table.add_column(style=QUIET_STYLE)
    table.add_column()
    table.add_row("  loss", _loss(document, colour))
    for name, value in document.metrics.items():
        table.add_row(f"  {name}", number_text(value))
    if document.convergence is not None:
        table.add_row("  converged", _convergence(document.convergence))
    if document.recoveries:
        table.add_row("  recovered", _recoveries(document))
    if document.reconfigurations:
        table.add_row("  changed", _reconfigurations(document))
    if document.help:
        table.add_row("  helped", _help(document.help))
    table.add_row("  time", _times(document, startup_s))
    table.add_row("  moved", _bytes(document))
    if document.model_spill_bytes or document.model_spill_s:
        table.add_row("  spilled", _spilled_model(document))
    if document.remote_bytes or document.remote_read_bytes or document.backup_read_bytes:
        table.add_row("  remote", _remote_memory(document))
    table.add_row("  model", f"sha256 {document.model_sha256[:16]}")
    if out is not None:
        table.add_row("  files", str(out))
    return Group(_heading(document, colour, startup_s), table)


def _heading(document: TrainDocument, colour: str, startup_s: float) -> Text:
    """`mlr on digits: 40 epochs in 4.2 s after 2.1 s of start-up with 3 workers and 2 servers`.

    After `--resume`: `mlr on digits: epochs 31 to 40 in 1.1 s after ...`.
    """
    startup = "" if math.isnan(startup_s) else f" after {duration_text(startup_s)} of start-up"
    return Text.assemble(
        ("● ", colour),
        (f"{document.app} on {Path(document.data).name}", "bold"),
        f": {_epochs(document)} in {_own_epochs_text(document)}{startup} with {_roles(document)}",
    )


def _epochs(document: TrainDocument) -> str:
    """Those that this command trained."""
    first = document.resumed_from_epoch
    if not first:
        return count_text(document.epochs, "epoch")
    if first == document.epochs:
        return f"no epoch after {document.epochs}"
    return f"epochs {first + 1} to {document.epochs}"


def _own_epochs_text(document: TrainDocument) -> str:
    return duration_text(_own_epochs_s(document))


def _own_epochs_s(document: TrainDocument) -> float:
    return math.fsum(document.epoch_s[document.resumed_from_epoch or 0 :])


def _roles(document: TrainDocument) -> str:
    """`1 worker and 3 servers, at the end 3 workers and 1 server`."""
    first = {"workers": document.workers, "servers": document.servers}
    last = document.reconfigurations[-1]["to"] if document.reconfigurations else first
    told = [
        f"{count_text(roles['workers'], 'worker')} and {count_text(roles['servers'], 'server')}"
        for roles in ([first] if last == first else [first, last])
    ]
    return ", at the end ".join(told)


def _loss(document: TrainDocument, colour: str) -> Text:
    first = number_text(document.loss[0]) if document.loss else ""
    return Text.assemble(
        f"{first} ",
        (sparkline(document.loss, SPARK_WIDTH), colour),
        (f" {number_text(document.final_loss)}", "bold"),
    )


def _convergence(convergence: Convergence) -> str:
    if convergence.is_missed:
        return f"no: {convergence}; try more epochs, or a larger tol"
    is_reached = convergence.ended_by == "convergence"
    return f"{'yes' if is_reached else 'ended by --until'}: {convergence}"


def _recoveries(document: TrainDocument) -> str:
    """How often, and from what the last time."""
    last = document.recoveries[-1]
    return (
        f"{count_text(len(document.recoveries), 'time')}, the last in epoch {last.at_epoch + 1} "
        f"from the checkpoint after epoch {last.resumed_from_epoch}: {last.cause}"
    )


def _reconfigurations(document: TrainDocument) -> str:
    """`2 reconfigurations, longest stall 12 ms; 1 failed`."""
    changes = document.reconfigurations
    failed = sum(bool(change["error"]) for change in changes)
    stall_ms = 1000 * max(change["stall_s"] for change in changes)
    text = f"{count_text(len(changes), 'reconfiguration')}, longest stall {stall_ms:.0f} ms"
    return f"{text}; {failed} failed" if failed else text


def _help(found: Sequence[Help]) -> str:
    """`worker 0 for 2: 1,200 instances in 14 mini-batches; ...`."""
    told = [
        f"worker {each.helper} for {each.helped}: {count_text(each.instances, 'instance')} in "
        f"{each.batches:,} mini-batch{'' if each.batches == 1 else 'es'}"
        for each in found[:MOST_HELPERS]
    ]
    if others := found[MOST_HELPERS:]:
        instances = count_text(sum(each.instances for each in others), "instance")
        told.append(f"{count_text(len(others), 'other pair')}: {instances}")
    return "; ".join(told)


def _times(document: TrainDocument, startup_s: float) -> str:
    """Times of all epochs and of this command; after `--resume` also of all commands."""
    comp, comm = duration_text(document.comp_s), duration_text(document.comm_s)
    loading = f", waiting for data {duration_text(document.load_s)}" if document.load_s else ""
    trained = f"epochs {_training(document)}: comp {comp}, comm {comm}{loading} per worker"
    startup = "" if math.isnan(startup_s) else f"; start-up {duration_text(startup_s)}"
    own_s = document.wall_s - document.earlier_s
    rest = _rest(document, own_s, startup_s)
    if document.resumed_from_epoch is None:
        return f"{trained}{startup}{rest}; in all {duration_text(own_s)}"
    return (
        f"all {trained}{startup}{rest}; this command {duration_text(own_s)}, with the earlier ones "
        f"{duration_text(document.wall_s)}"
    )


def _rest(document: TrainDocument, own_s: float, startup_s: float) -> str:
    """`; evaluation and checkpoints 8.9 s`, where they took much of the `own_s` of the command."""
    rest_s = own_s - _own_epochs_s(document) - startup_s
    if not rest_s >= max(_TOLD_REST_S, _TOLD_REST * own_s):  # Nor if the start-up is NaN.
        return ""
    what = (
        "evaluation, checkpoints, recoveries"
        if document.recoveries
        else "evaluation and checkpoints"
    )
    return f"; {what} {duration_text(rest_s)}"


def _spilled_model(document: TrainDocument) -> str:
    """`96.0 MB of the model on disk, read and written for 1.2 s per server`."""
    return (
        f"{bytes_text(document.model_spill_bytes)} of the model on disk, read and written for "
        f"{duration_text(document.model_spill_s)} per server"
    )


def _remote_memory(document: TrainDocument) -> str:
    """`96.0 MB on other machines, from where 380 MB were read; 12 MB from the disk`."""
    return (
        f"{bytes_text(document.remote_bytes)} on other machines, from where "
        f"{bytes_text(document.remote_read_bytes)} were read; "
        f"{bytes_text(document.backup_read_bytes)} from the disk"
    )


def _training(document: TrainDocument) -> str:
    return duration_text(sum(document.epoch_s))


def _bytes(document: TrainDocument) -> str:
    pulled, pushed = bytes_text(document.bytes_pulled), bytes_text(document.bytes_pushed)
    return f"{pulled} pulled, {pushed} pushed"
