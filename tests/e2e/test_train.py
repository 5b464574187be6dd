"""`motet train` in real processes, on data that is on every machine."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from marked_process import run_motet
from motet.apps import load_application, load_model
from motet.datasets import open_dataset
from motet.runtime.backends.local.cluster import LocalCluster
from motet.runtime.controller.job import Job
from motet.runtime.core.options import TrainOptions
from motet.runtime.core.reporting.reports import TrainResult
from soak_cases import others_in_soak

pytestmark = pytest.mark.cluster

RATINGS = ("nmf", "--data", "digits-ratings:part=train", "--test", "digits-ratings:part=test")
FILES = {"loss.csv", "loss.png", "model.npz", "run.json", "log.txt"}
EPOCHS = 4
DATA = {
    "mlr": "digits",
    "nmf": "digits-ratings",
    "lasso": "diabetes",
    "lda": "synthetic-corpus:documents=1000",
}


def train(*arguments: str | Path) -> dict[str, Any]:
    ended = run_motet("train", *arguments, "--json")
    assert (ended.code, ended.left_running) == (0, {}), ended.err
    document: dict[str, Any] = json.loads(ended.out)
    return document


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    """A run of EPOCHS epochs, and its folder."""
    folder = tmp_path_factory.mktemp("straight")
    arguments = (*RATINGS, "--workers", "2", "--servers", "1", "--epochs", str(EPOCHS))
    return train(*arguments, "--out", folder), folder


def test_the_document_tells_loss_metrics_times_and_bytes(
    straight: tuple[dict[str, Any], Path],
) -> None:
    document, _ = straight

    assert (document["app"], document["data"]) == ("nmf", "digits-ratings:part=train")
    assert (document["workers"], document["servers"], document["epochs"]) == (2, 1, EPOCHS)
    assert len(document["loss"]) == len(document["epoch_s"]) == EPOCHS
    assert document["loss"][0] > document["final_loss"] == document["loss"][-1]
    assert {"train_rmse", "test_rmse"} <= set(document["metrics"])
    assert (document["reconfigurations"], document["recoveries"]) == ([], [])
    assert "auto" not in document
    assert min(document[key] for key in ("wall_s", "comp_s", "comm_s", "bytes_pulled")) > 0


def test_the_folder_holds_curve_picture_model_record_and_log(
    straight: tuple[dict[str, Any], Path],
) -> None:
    document, folder = straight

    assert {path.name for path in folder.iterdir() if path.is_file()} == FILES
    record = json.loads((folder / "run.json").read_text())
    assert {key: record[key] for key in document} == document
    test = open_dataset("digits-ratings:part=test")
    metrics = load_model(folder / "model.npz").test_metrics(test)
    assert metrics["test_rmse"] == pytest.approx(document["metrics"]["test_rmse"])


@pytest.mark.soak
def test_a_resumed_run_on_other_machines_ends_where_a_straight_one_does(
    straight: tuple[dict[str, Any], Path], tmp_path: Path
) -> None:
    document, _ = straight
    half = (*RATINGS, "--out", tmp_path, "--epochs", str(EPOCHS // 2), "--checkpoint-every", "1")
    first = train(*half, "--machines", "1")

    resumed = train(
        *(*RATINGS, "--out", tmp_path, "--resume", "--epochs", str(EPOCHS)),
        *("--workers", "3", "--servers", "2"),
    )

    assert resumed["loss"] == pytest.approx(document["loss"], rel=1e-9)
    assert resumed["wall_s"] > first["wall_s"]  # times, too, are those of the whole run


@functools.cache
def dataset(app_name: str) -> Any:
    return open_dataset(DATA[app_name])


def trained(cluster: LocalCluster, app_name: str, workers: int, servers: int) -> TrainResult:
    app = load_application(app_name)()
    rows = app.prepare(dataset(app_name), 3)
    machines = max(workers, servers)
    options = TrainOptions(machines, workers=workers, servers=servers, epochs=EPOCHS, seed=3)
    return Job(app, rows, options, cluster).run()


@pytest.fixture(scope="module")
def shared(local_cluster: LocalCluster) -> Callable[[str], TrainResult]:
    """Trains an application on three workers and two servers; once for all tests."""
    return functools.cache(lambda app_name: trained(local_cluster, app_name, 3, 2))


# Every application, on executors that are threads: `apps/test_placement_independence.py`.
@pytest.mark.soak
@pytest.mark.parametrize(
    "app_name",
    others_in_soak(["nmf", "lda", "mlr", "lasso"], ["lda"]),
)
def test_workers_and_servers_do_not_change_what_is_learned(
    app_name: str, local_cluster: LocalCluster, shared: Callable[[str], TrainResult]
) -> None:
    alone = trained(local_cluster, app_name, 1, 1)

    assert shared(app_name).losses == pytest.approx(alone.losses, rel=1e-6)
    if app_name == "lda":
        assert shared(app_name).model_sha256 == alone.model_sha256


@pytest.mark.soak
def test_one_configuration_gives_the_same_model_bit_for_bit(
    local_cluster: LocalCluster, shared: Callable[[str], TrainResult]
) -> None:
    assert trained(local_cluster, "nmf", 3, 2).model_sha256 == shared("nmf").model_sha256


@pytest.mark.soak
def test_the_number_of_threads_of_the_command_does_not_change_the_model() -> None:
    """The command is a new process: it has to load NumPy with that many threads."""
    command = (sys.executable, "-m", "motet.interfaces.cli", "train", "mlr", "--data", "digits")
    digests = {
        json.loads(
            subprocess.run(
                [*command, "--epochs", "3", "--json"],
                env=os.environ | {"OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads},
                stdout=subprocess.PIPE,
                check=True,
            ).stdout
        )["model_sha256"]
        for threads in ("1", "2")
    }
    assert len(digests) == 1
