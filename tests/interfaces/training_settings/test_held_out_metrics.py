"""Held-out metrics of an application of one's own are rehearsed before the training."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import motet
from marked_process import run_motet
from motet.apps import load_application
from motet.apps.inputs.arrays import as_dataset
from motet.domain.errors import BadInput
from motet.interfaces.training_settings.held_out_metrics import rehearse_held_out_metrics

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "poisson_regression.py"
RETURN = "return np.exp(X @ self.coef_[:-1] + self.coef_[-1])"
VISITS = (np.arange(12.0).reshape(6, 2), np.array([1, 0, 2, 1, 3, 2]))


def edited_example(folder: Path, returned: str) -> Path:
    own = folder / "own.py"
    own.write_text(EXAMPLE.read_text().replace(RETURN, returned))
    return own


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ("return (X @ self.coef_[:-1])[:, None]", r"predict returned shape \(5, 1\) for 5 rows"),
        ("return float(np.sum(X @ self.coef_[:-1]))", r"predict returned shape \(\) for 5 rows"),
        ("return ['many'] * len(X)", "predict returned 'many'; it must return numbers"),
        (
            f"{RETURN}\n\n    def score(self, X, y):\n        return self.predict(X) - y",
            r"score returned array.*it must return a number",
        ),
    ],
)
def test_results_that_give_no_metric_are_refused_before_training(
    tmp_path: Path, returned: str, message: str
) -> None:
    app = load_application(str(edited_example(tmp_path, returned)))
    epochs: list[Any] = []
    with pytest.raises(BadInput, match=message):
        motet.train(app, VISITS, test=VISITS, epochs=1, callbacks=epochs.append)
    assert epochs == []


def test_the_command_refuses_them_with_exit_code_2(tmp_path: Path) -> None:
    own = edited_example(tmp_path, "return (X @ self.coef_[:-1])[:, None]")
    ended = run_motet("train", own, "--data", "diabetes", "--test", "diabetes")
    assert ended.code == 2
    assert "predict returned shape (5, 1)" in ended.err
    assert "starting" not in ended.err


def test_an_untrained_model_without_predictions_is_no_fault(tmp_path: Path) -> None:
    own = edited_example(tmp_path, "return np.linalg.inv(np.diag(self.coef_)) @ X")
    app = load_application(str(own))()
    visits = as_dataset("labelled", *VISITS)
    rows = app.prepared(visits, 0)

    rehearse_held_out_metrics(app, visits, rows, 0)

    assert not app.is_adopted
    assert not hasattr(app, "coef_")


def test_an_application_that_cannot_be_copied_is_no_fault() -> None:
    app = load_application(str(EXAMPLE))()
    app.library = np  # Executors get it by name.
    visits = as_dataset("labelled", *VISITS)

    rehearse_held_out_metrics(app, visits, app.prepared(visits, 0), 0)

    assert not app.is_adopted


def test_warnings_of_other_threads_are_not_lost_meanwhile() -> None:
    filters = list[Any]()
    known: Any = load_application(str(EXAMPLE))

    class Watching(known):
        def predict(self, X: Any) -> Any:
            filters.extend(warnings.filters)
            return super().predict(X)

    app, visits = Watching(), as_dataset("labelled", *VISITS)

    rehearse_held_out_metrics(app, visits, app.prepared(visits, 0), 0)

    assert filters == list(warnings.filters)
