"""`from motet import train, Cluster`."""

from __future__ import annotations

import inspect
import socket
import subprocess
import sys
import warnings
from dataclasses import fields
from pathlib import Path
from threading import get_ident
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

import motet
from executor_processes import executor_processes
from motet import BadInput, Cluster, train
from motet.datasets import open_dataset
from motet.domain.errors import Unreachable
from motet.interfaces.trained_model import TrainedModel
from motet.interfaces.training_arguments import TrainArguments
from motet.report.rendering.quantities import duration_text
from motet.report.training.folder import LOSS_COLUMNS
from motet.runtime.core.reporting.reports import EpochReport

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def cluster() -> Any:
    with Cluster(machines=3) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def digits(cluster: Cluster) -> TrainedModel:
    return cluster.train("mlr", "digits", epochs=3, workers=2, servers=1, test="digits", l2=1e-3)


def test_the_model_is_that_of_fit_on_the_same_data(digits: TrainedModel) -> None:
    alone = motet.MLR(l2=1e-3, epochs=3, random_state=0).fit(open_dataset("digits"))
    np.testing.assert_allclose(digits.model.coef_, alone.coef_, rtol=1e-6, atol=1e-9)


def test_numbers_of_numpy_are_whole_numbers(cluster: Cluster) -> None:
    numbers = {"workers": np.int64(2), "servers": np.int32(1), "epochs": np.int64(2)}
    found = cluster.train("mlr", "iris", checkpoint_every=np.int16(1), tol=0, **numbers)
    document = found.document
    assert (document.workers, document.servers, document.epochs) == (2, 1, 2)


@pytest.mark.soak
def test_jobs_that_take_turns_end_with_the_same_models() -> None:
    """Two jobs with unlike steps; the third is killed in the middle of its turns."""
    penalties = (0.0, 1e-2)
    with Cluster(machines=2, interleave=True) as cluster:
        endless = cluster.submit("mlr", "digits", epochs=100_000, tol=0, solver="saga")
        jobs = [cluster.submit("mlr", "digits", epochs=5, tol=0, l2=l2) for l2 in penalties]
        together = [job.result().model.coef_ for job in jobs]
        endless.cancel()
        alone = [cluster.train("mlr", "digits", epochs=5, tol=0, l2=l2) for l2 in penalties]
    for turn, one in zip(together, alone, strict=True):
        np.testing.assert_array_equal(turn, one.model.coef_)


def test_losses_are_a_table_and_metrics_a_dictionary(digits: TrainedModel) -> None:
    assert digits.losses.index.tolist() == [1, 2, 3]
    assert digits.losses["loss"].tolist() == digits.result.losses
    assert set(digits.losses.columns) >= {"accuracy", *LOSS_COLUMNS}
    assert digits.metrics["test_accuracy"] == pytest.approx(digits.metrics["accuracy"])


def test_a_notebook_shows_metrics_and_the_curve(digits: TrainedModel) -> None:
    page = digits._repr_html_()
    assert "accuracy" in page
    assert "<svg" in page
    assert repr(digits).startswith("<mlr on digits: loss ")
    epochs_s = duration_text(digits.losses["wall_s"].sum())
    assert f"3 epochs in {epochs_s} with 2 workers and 1 server" in repr(digits)


def test_the_model_can_be_saved_and_loaded(digits: TrainedModel, tmp_path: Path) -> None:
    digits.save(tmp_path / "model.npz")
    loaded = motet.load_model(tmp_path / "model.npz")
    np.testing.assert_array_equal(loaded.coef_, digits.model.coef_)


def test_frames_arrays_and_sparse_matrices_are_data(cluster: Cluster) -> None:
    from scipy.sparse import csr_matrix

    X = np.random.default_rng(0).normal(size=(60, 4))
    y = X @ [1.0, -2.0, 0.5, 0.0] + 3
    frame = pd.DataFrame(X, columns=list("abcd"))
    for data in ((X, y), (frame, y), (csr_matrix(X), y)):
        found = cluster.train("linear_regression", data, epochs=5)
        np.testing.assert_allclose(found.model.coef_, [1.0, -2.0, 0.5, 0.0], atol=1e-6)


def test_callbacks_see_every_epoch(cluster: Cluster) -> None:
    seen: list[EpochReport] = []
    found = cluster.train("mlr", "iris", epochs=4, callbacks=[seen.append])
    assert [report.epoch for report in seen] == found.losses.index.tolist() == [1, 2, 3, 4]
    assert [report.loss for report in seen] == found.result.losses


def test_callbacks_are_called_on_the_thread_that_the_page_names(cluster: Cluster) -> None:
    threads: list[int] = []
    cluster.train("mlr", "iris", epochs=1, callbacks=lambda _: threads.append(get_ident()))
    cluster.submit(
        "mlr", "iris", epochs=1, callbacks=lambda _: threads.append(get_ident())
    ).result()
    assert threads[0] == get_ident() != threads[1]


def test_an_exception_of_a_callback_ends_the_training(cluster: Cluster) -> None:
    def fail(report: EpochReport) -> None:
        raise RuntimeError(f"after epoch {report.epoch}")

    with pytest.raises(RuntimeError, match="after epoch 1"):
        cluster.train("mlr", "iris", epochs=4, callbacks=[fail])


def test_jobs_train_beside_each_other(cluster: Cluster) -> None:
    jobs = [cluster.submit("mlr", "iris", epochs=3, seed=seed) for seed in range(3)]
    alone = cluster.train("mlr", "iris", epochs=3, seed=1)
    assert jobs[1].result().result.model_sha256 == alone.result.model_sha256
    assert len({job.result().result.model_sha256 for job in jobs}) == 3


def test_an_object_keeps_its_parameters_and_is_not_changed(cluster: Cluster) -> None:
    app = motet.MLR(l2=0.5, epochs=2)
    found = cluster.train(app, "iris")
    assert found.model.get_params()["l2"] == 0.5
    assert len(found.result.epochs) == 2
    assert not hasattr(app, "coef_")


def test_a_resumed_training_continues(cluster: Cluster, tmp_path: Path) -> None:
    options: dict[str, Any] = {"checkpoints": tmp_path, "checkpoint_every": 1}
    first = cluster.train("mlr", "iris", epochs=2, **options)
    resumed = cluster.train("mlr", "iris", epochs=4, resume=True, **options)
    straight = cluster.train("mlr", "iris", epochs=4)
    assert resumed.result.resumed_from_epoch == 2
    assert resumed.document.wall_s > first.document.wall_s
    assert resumed.result.losses == pytest.approx(straight.result.losses)


@pytest.mark.parametrize(
    ("arguments", "options", "complaint"),
    [
        ((7, "iris"), {}, "7: not an application"),
        (("mlr", "iris"), {"workers": 0}, "workers=0: must be a whole number"),
        (("mlr", "iris"), {"workers": "2"}, "workers='2': must be a whole number"),
        (("mlr", "iris"), {"workers": 9}, "workers=9: must be between 1 and machines=3"),
        (("mlr", "iris"), {"epochs": 1.5}, "epochs=1.5: must be a whole number"),
        (("mlr", "iris"), {"rank": 3}, "rank=3: neither .* nor a parameter of MLR; known: batch_s"),
        (("mlr", "iris"), {"learnig_rate": 1}, r"MLR; did you mean 'learning_rate'\? known: "),
        (("mlr", "iris"), {"worker": 2}, r"of MLR; did you mean 'workers'\?$"),
        (("mlr", "iris"), {"resume": True}, "resume=True needs checkpoints"),
        (("mlr", "nowhere.csv"), {}, "nowhere.csv"),
        (("mlr", [["a"]]), {}, "not a matrix of numbers"),
        (("mlr", 5), {}, "data=5: give a path, the name of a built-in data set"),
        (("mlr", "iris"), {"test": 5}, "test=5: give a path"),
        (("mlr", pd.DataFrame({"a": [1]})), {"target": "a", "drop": 3.5}, "drop=3.5: give names"),
        (("mlr", (np.eye(3), ["a", None, "b"])), {}, "y: holds missing values"),
        (("mlr", (np.eye(3), np.array(["a", np.nan, "b"], object))), {}, "y: holds missing"),
        (("mlr", "iris"), {"consistency": "foo"}, "unknown consistency 'foo'"),
        (("mlr", "iris"), {"seed": -1}, "seed=-1: must be None or a whole number"),
        (("mlr", "iris"), {"seed": "a"}, "seed='a': must be None or a whole number"),
        (("mlr", "iris"), {"callbacks": [3]}, "callbacks: 3 is no function"),
        (("mlr", "iris"), {"callbacks": 3}, "callbacks: 3 is no function"),
        (("mlr", "iris"), {"until": 3}, "until=3: give 'loss=NUMBER'"),
        (("mlr", "iris"), {"until": "x"}, "until='x': write loss=NUMBER"),
        (("mlr", "iris"), {"staleness": "a"}, "staleness='a': must be a whole number"),
        (("mlr", "iris"), {"checkpoint_every": 0}, "checkpoint_every=0: must be a whole"),
        (("mlr", "iris"), {"lost_after": "1m"}, "lost_after='1m': give a number of seconds"),
        (("mlr", "iris"), {"workers": 2, "servers": 3, "epochs": 0}, "epochs=0: must be a whole"),
        (("mlr", "iris"), {"target": "x"}, "iris: target does not apply to iris data"),
        (("mlr", (np.eye(3), [0, 1, 0])), {"target": 0}, "target=0: applies to a file or a Data"),
        (("mlr", np.eye(3)), {"na": "?"}, r"na='\?': applies to a file only"),
        (("mlr", pd.DataFrame({"a": [1]})), {}, "a DataFrame needs target=NAME"),
        (("mlr", pd.DataFrame({"a": [1]})), {"target": "b"}, "unknown column in target 'b'"),
        (("mlr", pd.DataFrame({"a": [1]})), {"target": "a", "drop": "a"}, "is in drop, too"),
    ],
)
def test_what_cannot_be_trained_is_one_clear_error(
    cluster: Cluster, arguments: tuple[Any, Any], options: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(BadInput, match=complaint):
        cluster.train(*arguments, **options)


FLOWERS = pd.DataFrame(
    {
        "width": [1.0, 2.0, 3.0, 4.0],
        "kind": list("abab"),
        "note": ["x"] * 4,
        "length": [4.0, 3.0, 2.0, 1.0],
    }
)


def test_a_target_column_is_that_of_a_frame_and_of_a_file(cluster: Cluster, tmp_path: Path) -> None:
    FLOWERS.to_csv(tmp_path / "flowers.csv", index=False)
    options: dict[str, Any] = {"target": "kind", "drop": ["note"], "epochs": 3}
    of_frame = cluster.train("mlr", FLOWERS, test=FLOWERS, **options)
    of_file = cluster.train("mlr", tmp_path / "flowers.csv", **options)
    of_arrays = cluster.train("mlr", (FLOWERS[["width", "length"]], FLOWERS["kind"]), epochs=3)
    assert of_frame.result.model_sha256 == of_arrays.result.model_sha256
    assert of_file.result.model_sha256 == of_arrays.result.model_sha256
    assert "test_accuracy" in of_frame.metrics


def test_columns_of_a_frame_are_also_known_by_index(cluster: Cluster) -> None:
    numbers = FLOWERS[["width", "length"]]
    assert len(cluster.train("lasso", numbers, target=-1, epochs=2).losses) == 2


def test_help_of_train_lists_every_argument() -> None:
    of_train = inspect.signature(train).parameters
    of_cluster = inspect.signature(Cluster.train).parameters
    assert set(of_train) == (set(of_cluster) - {"self"}) | {"machines", "address"}
    checked = {field.name for field in fields(TrainArguments)}
    assert set(of_cluster) - {"self"} == checked


def test_checkpoints_of_an_earlier_run_are_kept(cluster: Cluster, tmp_path: Path) -> None:
    options: dict[str, Any] = {"checkpoints": tmp_path / "kept", "epochs": 2}
    cluster.train("mlr", "iris", **options)
    before = sorted(path.name for path in (tmp_path / "kept").iterdir())
    with pytest.raises(BadInput, match=r"holds a run already \(epoch-000002\); give resume=True"):
        cluster.train("mlr", "iris", **options)
    with pytest.raises(BadInput, match="resume=True continues a run and overwrite=True removes"):
        cluster.train("mlr", "iris", **options, resume=True, overwrite=True)
    assert sorted(path.name for path in (tmp_path / "kept").iterdir()) == before
    cluster.train("mlr", "iris", **{**options, "epochs": 1}, overwrite=True)
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["epoch-000001"]


def test_a_run_without_checkpoints_is_resumed_from_the_beginning(
    cluster: Cluster, tmp_path: Path
) -> None:
    with pytest.raises(BadInput, match=r"no checkpoint in .*nowhere; check the folder's name"):
        cluster.train("mlr", "iris", checkpoints=tmp_path / "nowhere", resume=True)
    told = "no checkpoint in .* yet; training from the beginning"
    with pytest.warns(UserWarning, match=told) as warned:
        found = cluster.train("mlr", "iris", checkpoints=tmp_path, resume=True, epochs=2)
    assert {each.filename for each in warned} == {__file__}
    assert found.result.resumed_from_epoch is None


@pytest.mark.soak
def test_warnings_name_the_line_that_trains_or_submits(cluster: Cluster) -> None:
    lines = []
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always", ConvergenceWarning)
        lines.append(_this_line() + 1)
        cluster.train("mlr", "iris", epochs=1)
        lines.append(_this_line() + 1)
        cluster.submit("mlr", "iris", epochs=1).result()
        lines.append(_this_line() + 1)
        motet.train("mlr", "iris", epochs=1, machines=1)
    found = [each for each in given if each.category is ConvergenceWarning]
    assert [(each.filename, each.lineno) for each in found] == [(__file__, it) for it in lines]


def _this_line() -> int:
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    return frame.f_back.f_lineno


def test_parameters_of_an_object_are_refused(cluster: Cluster) -> None:
    with pytest.raises(BadInput, match="l2: not an option of train"):
        cluster.train(motet.MLR(), "iris", l2=1.0)


@pytest.mark.soak
def test_train_starts_and_ends_a_cluster_of_its_own() -> None:
    found = train("mlr", "iris", epochs=2, workers=2, servers=1)
    assert (found.document.workers, found.document.servers) == (2, 1)
    assert executor_processes() == []


@pytest.mark.soak
def test_a_script_needs_no_main_guard(tmp_path: Path) -> None:
    """Its own application is defined in the script itself."""
    script = tmp_path / "script.py"
    script.write_text(
        "import motet\n"
        "print('once')\n"
        "class Mine(motet.MLR):\n"
        "    name = 'mine'\n"
        "found = motet.train(Mine(epochs=2, tol=0), 'iris', workers=2, servers=1)\n"
        "print(len(found.losses), type(found.model).__name__)\n"
    )
    ended = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=False
    )
    assert (ended.stdout, ended.stderr) == ("once\n2 Mine\n", "")


def test_training_on_this_machine_needs_no_ray() -> None:
    program = (
        "import sys; sys.modules['ray'] = None\n"
        "import motet\n"
        "print(len(motet.train('mlr', 'iris', epochs=2, tol=0).losses))\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (ended.stdout, ended.stderr) == ("2\n", "")


def test_a_closed_cluster_says_so() -> None:
    with Cluster(machines=1) as ended:
        pass
    with pytest.raises(BadInput, match="the cluster is closed"):
        ended.train("mlr", "iris")
    with pytest.raises(BadInput, match="the cluster is closed"):
        ended.submit("mlr", "iris")


@pytest.mark.soak
def test_queued_jobs_end_before_the_cluster() -> None:
    with Cluster(machines=1) as cluster:
        jobs = [cluster.submit("mlr", "iris", epochs=1) for _ in range(12)]
    assert all(job.result().losses.size for job in jobs)


@pytest.mark.soak
def test_an_address_where_nothing_answers_is_refused_at_once() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        with pytest.raises(Unreachable, match=f"127.0.0.1:{port}"):
            train("mlr", "iris", address=f"127.0.0.1:{port}")


def test_wrong_arguments_of_a_cluster_are_named() -> None:
    with pytest.raises(BadInput, match="address=5: give HOST:PORT"):
        Cluster(address=5)  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="interleave=True: only on this machine"):
        Cluster(address="127.0.0.1:1", interleave=True)
    with pytest.raises(BadInput, match="cpu_tokens=2: jobs only take turns with interleave=True"):
        Cluster(cpu_tokens=2)
    with pytest.raises(BadInput, match="cpu_tokens=0"):
        Cluster(interleave=True, cpu_tokens=0)
