"""A finished run in a few lines."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from motet.report.training.document import TrainDocument
from motet.report.training.summary import train_summary
from sample_result import lasso_result

LABELS = ["loss", "objective", "nonzeros", "time", "moved", "model", "files"]


def test_the_summary_names_result_times_bytes_and_files() -> None:
    document = TrainDocument.of(lasso_result(), "some/diabetes", 1, 2)
    document = replace(document, epoch_s=[0.1, 0.2, 0.3], comp_s=0.4, comm_s=0.05)
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(train_summary(document, Path("runs/1"), "blue", 1.2))

    lines = console.export_text().splitlines()

    assert lines[0] == (
        "● lasso on diabetes: 3 epochs in 0.6 s after 1.2 s of start-up with 1 worker and 2 servers"
    )
    assert (
        "  time       epochs 0.6 s: comp 0.4 s, comm 50 ms per worker; start-up 1.2 s; in all 1.5 s"
        in lines
    )
    assert [line.split()[0] for line in lines[1:]] == LABELS
    assert lines[-1].split() == ["files", "runs/1"]
