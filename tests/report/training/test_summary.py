"""A finished run in a few lines."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from motet.report.training.document import TrainDocument
from motet.report.training.summary import train_summary
from motet.runtime.core.convergence import Convergence
from motet.runtime.core.reporting.reports import Help
from sample_result import lasso_result

METRICS = ["objective", "nonzeros", "rmse", "r2"]
LABELS = ["loss", *METRICS, "recovered", "time", "moved", "model", "files"]


def test_the_summary_names_result_times_bytes_and_files() -> None:
    document = TrainDocument.of(lasso_result(), "some/diabetes", 1, 2)
    document = replace(document, epoch_s=[0.1, 0.2, 0.3], comp_s=0.4, comm_s=0.05)
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(train_summary(document, Path("runs/1"), "blue", 1.2))

    lines = [line.rstrip() for line in console.export_text().splitlines()]

    assert lines[0] == (
        "● lasso on diabetes: 3 epochs in 0.6 s after 1.2 s of start-up with 1 worker and 2 servers"
    )
    assert (
        "  time       epochs 0.6 s: comp 0.4 s, comm 50 ms per worker; start-up 1.2 s; in all 1.5 s"
        in lines
    )
    assert [line.split()[0] for line in lines[1:]] == LABELS
    assert lines[-1].split() == ["files", "runs/1"]


def test_after_resume_the_times_of_this_command_and_of_all_are_told() -> None:
    result = replace(lasso_result(), resumed_from_epoch=2, wall_s=30.0)
    document = TrainDocument.of(result, "some/diabetes", 1, 2, earlier_s=25.0)
    lines = printed(replace(document, epoch_s=[3.0, 4.0, 0.2])).splitlines()
    assert lines[0].startswith(
        "● lasso on diabetes: epochs 3 to 3 in 0.2 s after 1.2 s of start-up with 1 worker"
    )
    (times,) = (line for line in lines if line.startswith("  time"))
    assert "all epochs 7.2 s: comp" in times
    told = "start-up 1.2 s; evaluation, checkpoints, recoveries 3.6 s; this command 5.0 s, with "
    assert times.endswith(f"{told}the earlier ones 30 s")
    nothing = printed(replace(document, resumed_from_epoch=3)).splitlines()[0]
    assert "no epoch after 3 in 0.0 s" in nothing


def test_much_time_outside_epochs_and_start_up_is_told() -> None:
    document = replace(
        TrainDocument.of(lasso_result(), "some/diabetes", 1, 2),
        epoch_s=[1.0, 1.0, 1.0],
        recoveries=[],
    )
    much, little = (printed(replace(document, wall_s=wall_s)) for wall_s in (8.2, 5.3))
    assert "start-up 1.2 s; evaluation and checkpoints 4.0 s; in all 8.2 s" in much
    assert "start-up 1.2 s; in all 5.3 s" in little


def printed(document: TrainDocument) -> str:
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(train_summary(document, None, "blue", 1.2))
    return "".join(f"{line.rstrip()}\n" for line in console.export_text().splitlines())


def test_recoveries_and_reconfigurations_are_told() -> None:
    document = TrainDocument.of(lasso_result(), "some/diabetes", 1, 2)
    changes: list[dict[str, object]] = [
        {"error": "", "stall_s": 0.012, "to": {"workers": 2, "servers": 1}},
        {"error": "executor 3 died", "stall_s": 0.0, "to": {"workers": 3, "servers": 1}},
    ]
    text = printed(replace(document, reconfigurations=changes))
    assert (
        "recovered  1 time, the last in epoch 3 from the checkpoint after epoch 1: "
        "executor 1 died\n" in text
    )
    assert "changed    2 reconfigurations, longest stall 12 ms; 1 failed\n" in text
    heading = text.splitlines()[0]
    assert heading.endswith("with 1 worker and 2 servers, at the end 3 workers and 1 server")


def test_a_model_on_disk_is_told_with_the_time_for_it() -> None:
    result = lasso_result()
    spilled = [(0, 0.0), (96_000_000, 0.5), (64_000_000, 0.7)]
    epochs = tuple(
        replace(epoch, model_spill_bytes=nbytes, model_spill_s=seconds)
        for epoch, (nbytes, seconds) in zip(result.epochs, spilled, strict=True)
    )
    document = TrainDocument.of(replace(result, epochs=epochs), "some/diabetes", 1, 2)
    line = "spilled    96.0 MB of the model on disk, read and written for 1.2 s per server\n"
    assert line in printed(document)
    assert "spilled" not in printed(TrainDocument.of(result, "some/diabetes", 1, 2))


def test_remote_memory_is_told_with_what_was_read_from_it_and_from_the_disk() -> None:
    result = lasso_result()
    used = [(0, 0, 5_000_000), (96_000_000, 80_000_000, 7_000_000), (64_000_000, 40_000_000, 0)]
    epochs = tuple(
        replace(epoch, remote_bytes=held, remote_read_bytes=near, backup_read_bytes=disk)
        for epoch, (held, near, disk) in zip(result.epochs, used, strict=True)
    )
    document = TrainDocument.of(replace(result, epochs=epochs), "some/diabetes", 1, 2)
    line = "96.0 MB on other machines, from where 120 MB were read; 12.0 MB from the disk\n"
    assert f"remote     {line}" in printed(document)
    assert "remote" not in printed(TrainDocument.of(result, "some/diabetes", 1, 2))


def test_the_workers_that_helped_most_are_told() -> None:
    document = TrainDocument.of(lasso_result(), "some/diabetes", 1, 2)
    pairs = [(0, 2, 14, 1200), (1, 2, 1, 30), (0, 3, 2, 20), (2, 3, 1, 9), (1, 0, 1, 1)]
    text = printed(replace(document, help=[Help(*pair) for pair in pairs]))
    assert (
        "  helped     worker 0 for 2: 1,200 instances in 14 mini-batches; worker 1 for 2: 30 "
        "instances in 1 mini-batch; worker 0 for 3: 20 instances in 2 mini-batches; 2 other pairs: "
        "10 instances\n" in text
    )
    assert "helped" not in printed(document)


@pytest.mark.parametrize(
    ("residual", "until_is_met", "told"),
    [
        (2e-3, False, "no: gradient norm 2.0e-03, above tol=0.001; try more epochs, or a larger"),
        (2e-4, False, "yes: gradient norm 2.0e-04, at most tol=0.001"),
        (2e-3, True, "ended by --until: gradient norm 2.0e-03, above tol=0.001"),
    ],
)
def test_whether_training_has_converged_is_told(
    residual: float, until_is_met: bool, told: str
) -> None:
    found = Convergence.after("gradient norm", residual, 1e-3, until_is_met)
    document = TrainDocument.of(lasso_result(), "some/diabetes", 1, 2)
    assert f"converged  {told}" in printed(replace(document, convergence=found))
