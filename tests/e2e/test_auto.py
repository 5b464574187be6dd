"""`motet train --auto` on real Ray: a bad start is left, the model stays; clear refusals."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

import slow_kmeans
from marked_process import run_motet
from motet.cruise.search.solver import compile_search
from trained_here import trained_here

pytestmark = pytest.mark.cluster

APP = Path(slow_kmeans.__file__)
DATA = "synthetic-classification:rows=2000,features=20,classes=10"
EPOCHS = 50
CLUSTERS = 20
SLOW_KMEANS = (
    APP,
    "--data",
    DATA,
    "--set",
    f"n_clusters={CLUSTERS}",
    "--set",
    "tol=0",
    "--epochs",
    str(EPOCHS),
)
BAD_START = ("--machines", "4", "--workers", "1", "--servers", "3")


@pytest.fixture
def compiled_search() -> None:
    """The job is too short to wait for a compilation."""
    compile_search()


def trained(*arguments: str | Path) -> dict[str, Any]:
    ended = run_motet("train", *SLOW_KMEANS, *arguments, "--json", timeout_s=280)
    assert (ended.code, ended.left_running) == (0, {}), ended.err
    assert "beginning with 1 worker, 3 servers" in ended.err
    document: dict[str, Any] = json.loads(ended.out)
    return document


@pytest.mark.soak
@pytest.mark.usefixtures("compiled_search")
def test_a_bad_start_is_left_and_the_same_model_is_learned(tmp_path: Path) -> None:
    driven = trained("--auto", *BAD_START, "--out", tmp_path / "run")
    plain = trained_here("kmeans", DATA, EPOCHS, roles=(1, 1), tol=0, n_clusters=CLUSTERS)
    assert driven["final_loss"] == pytest.approx(plain.losses[-1], rel=1e-6)
    first = next(d for d in driven["auto"]["decisions"] if d["reason"] == "gain")
    assert first["from"] == {"workers": 1, "servers": 3}
    assert first["to"]["workers"] > 1
    change = driven["reconfigurations"][0]
    assert (change["to"], change["error"]) == (first["to"], "")
    assert change["predicted_epoch_s"] == first["predicted_epoch_s"]
    assert change["measured_epoch_s"] > change["predicted_epoch_s"]
    files = {path.name for path in (tmp_path / "run").iterdir()}
    assert {"auto.png", "auto-epochs.csv", "auto-decisions.csv"} <= files
    with (tmp_path / "run" / "auto-epochs.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [int(row["epoch"]) for row in rows] == list(range(1, EPOCHS + 1))
    assert [float(row["measured_s"]) for row in rows] == pytest.approx(driven["epoch_s"])
    assert (rows[0]["workers"], rows[0]["servers"]) == ("1", "3")


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        (("--set", "consistency=async"), "--auto with consistency=async"),
        (("--reconfigure", "plan.yaml"), "both change the configuration; leave one of them out"),
    ],
)
def test_what_cannot_be_combined_is_refused(more: tuple[str, ...], complaint: str) -> None:
    ended = run_motet("train", "mlr", "--data", "digits", "--auto", *more)
    assert ended.code == 2
    assert complaint in ended.err
    assert "starting" not in ended.err
