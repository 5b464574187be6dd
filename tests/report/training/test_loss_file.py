"""loss.csv while training goes on."""

from __future__ import annotations

from pathlib import Path

from motet.report.training.folder import RunFolder
from motet.report.training.loss_file import LossFile
from motet.runtime.core.reporting.reports import EpochReport, Recovery


def report(epoch: int) -> EpochReport:
    return EpochReport(epoch, 1.0 / (epoch + 1), {"b": 2.0, "a": 1.0}, 1, 1, 1, 1, 1, 1, 1)


def test_after_every_epoch_the_file_is_as_if_it_were_the_last(tmp_path: Path) -> None:
    growing, whole = RunFolder(tmp_path / "growing"), RunFolder(tmp_path / "whole")
    losses = LossFile(growing)
    losses.started(1, 1)
    for epoch in range(4):
        losses.epoch_done(report(epoch))
        whole.write_losses([report(each) for each in range(epoch + 1)])
        assert read(growing) == read(whole)


def test_a_recovery_removes_the_epochs_after_the_checkpoint(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    losses = LossFile(folder)
    for epoch in range(4):
        losses.epoch_done(report(epoch))
    losses.recovering(Recovery(4, 2, "executor 1 died"))
    losses.epoch_done(report(2))
    assert epochs(folder) == ["1", "2", "3"]


def test_a_resumed_run_keeps_the_rows_of_its_checkpoint(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    for epoch in range(5):
        LossFile(folder, [report(each) for each in range(epoch)]).epoch_done(report(epoch))
    losses = LossFile(folder, [report(0), report(1)])
    losses.started(1, 1)
    losses.epoch_done(report(2))
    assert epochs(folder) == ["1", "2", "3"]


def read(folder: RunFolder) -> str:
    return (folder.path / "loss.csv").read_text()


def epochs(folder: RunFolder) -> list[str]:
    return [line.split(",")[0] for line in read(folder).splitlines()[1:]]
