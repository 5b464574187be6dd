"""`motet train --reconfigure` on real Ray: the same model, reported changes, clear refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from marked_process import run_motet
from trained_here import trained_here

pytestmark = pytest.mark.cluster

DATA = "synthetic-corpus:documents=1000"
LDA = ("lda", "--data", DATA, "--machines", "4", "--workers", "1", "--servers", "2")
EPOCHS = 30
PLAN = """
- at_epoch: 1
  operations:
    - {switch: 3, role: worker}
    - {move: 30, of: data, from: 0, to: 3}
- {at_epoch: 2, workers: 1, servers: 2}
"""


def trained(*arguments: str | Path) -> dict[str, Any]:
    ended = run_motet("train", *LDA, "--epochs", str(EPOCHS), *arguments, "--json")
    assert (ended.code, ended.left_running) == (0, {}), ended.err
    document: dict[str, Any] = json.loads(ended.out)
    return document


@pytest.mark.soak
def test_a_reconfigured_run_learns_the_same_model_and_tells_its_changes(tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text(PLAN)
    out = tmp_path / "run"
    moved = trained("--reconfigure", plan, "--out", out)
    assert moved["recoveries"] == []
    still = trained_here("lda", DATA, EPOCHS, roles=(1, 2))
    assert moved["model_sha256"] == still.model_sha256
    first, second = moved["reconfigurations"]
    assert first["at_epoch"] == 1
    assert (first["from"], first["to"]) == (
        {"workers": 1, "servers": 2},
        {"workers": 2, "servers": 1},
    )
    assert (second["to"], second["error"]) == ({"workers": 1, "servers": 2}, "")
    assert min(first["moved_bytes"], first["plan_s"]) > 0
    record = json.loads((out / "run.json").read_text())
    assert record["reconfigurations"] == moved["reconfigurations"]


def test_a_plan_that_cannot_be_carried_out_is_refused_before_anything_starts(
    tmp_path: Path,
) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text("- at_epoch: 1\n  operations:\n    - {delete: 0}\n")
    ended = run_motet("train", *LDA, "--reconfigure", plan)
    assert ended.code == 2
    assert f"{plan}:3: executor 0 is the only worker; add another one first" in ended.err
    assert "starting" not in ended.err
