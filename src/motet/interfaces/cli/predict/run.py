"""`motet predict`: load the model, read the data, write a table as CSV or JSON."""

from __future__ import annotations

import csv
import io
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from motet.apps import load_application, load_model
from motet.apps.estimator import Estimator, features_for
from motet.datasets import Corpus, Dataset, LabelledMatrix, open_dataset
from motet.datasets.formats.tables.ratings import PAIR
from motet.datasets.kinds import Ratings
from motet.domain.errors import BadInput
from motet.interfaces.cli.shell.streams.terminal_output import Writer, data_output, is_stdout
from motet.interfaces.cli.shell.streams.visible import echo_note
from motet.report.rendering.csv_cells import inert_cell
from motet.report.rendering.json_text import to_json_table
from motet.report.rendering.quantities import count_text
from motet.runtime.blas_threads import one_blas_thread

_ROWS_AT_ONCE = 65_536


@dataclass(frozen=True)
class PredictFlags:
    """The options of `motet predict` as parsed by click."""

    model: Path
    data: str
    format_name: str | None = None
    target: str | None = None
    drop: Sequence[str] = ()
    na: str | None = None
    columns: Sequence[str] = ()
    app: str | None = None
    out: Path | None = None
    as_json: bool = False
    with_probabilities: bool = False
    overwrite: bool = False


@dataclass(frozen=True)
class Predictions:
    """A table: the names of its columns, and their values."""

    columns: tuple[str, ...]
    values: tuple[Any, ...]

    def rows(self) -> Iterator[tuple[object, ...]]:
        """Cells as Python values, row by row."""
        count = len(self.values[0])
        for start in range(0, count, _ROWS_AT_ONCE):
            part = (column[start : start + _ROWS_AT_ONCE] for column in self.values)
            yield from zip(*(np.asarray(column).tolist() for column in part), strict=True)


@one_blas_thread()
def run_prediction(flags: PredictFlags) -> None:
    """Predict as the flags say and write the table. Raises MotetError."""
    _require_new_file(flags)
    model = _model(flags)
    if flags.with_probabilities:
        _require_probabilities(model)
    dataset = _dataset(flags, model)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        table = predictions_of(model, dataset, with_probabilities=flags.with_probabilities)
    for said in caught:
        echo_note(str(said.message))
    if isinstance(dataset, LabelledMatrix) and dataset.kept is not None:
        table = _in_line(table, dataset.kept)
    text = _json_parts(model.name, dataset.source, table) if flags.as_json else _csv_parts(table)
    if flags.out is None or is_stdout(flags.out):
        _write(text, data_output())
        return
    try:
        with flags.out.open("w", newline="", encoding="utf-8") as file:
            _write(text, file)
    except OSError as error:
        raise BadInput(f"--out {flags.out}: cannot be written ({error.strerror})") from error
    rows = count_text(len(table.values[0]), "row")
    click.echo(f"{rows} of predictions in {flags.out}", err=True)


def predictions_of(
    model: Estimator, dataset: Dataset, *, with_probabilities: bool = False
) -> Predictions:
    """A model's predictions for a data set, if asked for with a probability per class.

    Raises BadInput for data that do not fit the model.
    """
    app: Any = model
    if isinstance(dataset, Ratings):
        users, items = dataset.user_ids[dataset.users], dataset.item_ids[dataset.items]
        return Predictions(("user", "item", "prediction"), (users, items, app.predict(dataset)))
    if isinstance(dataset, Corpus):
        shares = app.transform(dataset)
        names = tuple(f"topic_{number}" for number in range(shares.shape[1]))
        return Predictions(names, tuple(shares.T))
    if not callable(getattr(model, "predict", None)):
        raise BadInput(f"{model.name}: defines no predict, so nothing can be predicted")
    assert isinstance(dataset, LabelledMatrix)
    trained_on = vars(model).get("feature_names_in_")
    if trained_on is not None and dataset.has_column_names:
        dataset = dataset.with_columns(trained_on.tolist())
    features = features_for(model, dataset)
    predicted = app.predict(features)
    if not with_probabilities:
        return Predictions(("prediction",), (predicted,))
    classes = tuple(f"probability_{each}" for each in app.classes_.tolist())
    shares = app.predict_proba(features)
    return Predictions(("prediction", *classes), (predicted, *shares.T))


def _in_line(table: Predictions, kept: NDArray[np.bool_]) -> Predictions:
    """The table with an empty row for every row of the source that was left out; says so."""
    lost = len(kept) - int(np.count_nonzero(kept))
    lack = "lacks values (--drop missing-rows): its prediction is empty"
    if lost > 1:
        lack = "lack values (--drop missing-rows): their predictions are empty"
    click.echo(f"{lost:,} of {len(kept):,} rows {lack}", err=True)
    columns = []
    for values in table.values:
        column = np.full(len(kept), None, dtype=object)
        column[kept] = np.asarray(values).tolist()
        columns.append(column)
    return Predictions(table.columns, tuple(columns))


def _require_new_file(flags: PredictFlags) -> None:
    """Raises BadInput if a file would be replaced without --overwrite."""
    if flags.overwrite and (flags.out is None or is_stdout(flags.out)):
        raise BadInput("--overwrite needs --out FILE, the file to replace")
    # Devices and pipes, such as /dev/null, hold nothing that could be lost.
    is_kept = flags.out is not None and not is_stdout(flags.out) and flags.out.is_file()
    if is_kept and not flags.overwrite:
        raise BadInput(f"--out {flags.out}: exists; name another file, or add --overwrite")


def _require_probabilities(model: Estimator) -> None:
    if not callable(getattr(model, "predict_proba", None)):
        raise BadInput(
            f"--proba: {model.name} gives no probabilities of classes; mlr and "
            "logistic_regression do"
        )


def _model(flags: PredictFlags) -> Estimator:
    if flags.app is None:
        return load_model(flags.model)
    return load_application(flags.app).load(flags.model)


def _dataset(flags: PredictFlags, model: Estimator) -> Dataset:
    """The data; of a table with a header only the columns that the model needs."""
    kind = model.dataset_kind
    return open_dataset(
        flags.data,
        kind="unlabelled" if kind == "labelled" and flags.target is None else kind,
        format=flags.format_name,
        target=flags.target,
        drop=flags.drop,
        na=flags.na,
        columns=flags.columns,
        only=PAIR if kind == "ratings" else _named_words(model) or _named_columns(model),
    )


def _named_words(model: Estimator) -> tuple[str, ...]:
    """The vocabulary of the model; empty if its training data had none."""
    words = vars(model).get("vocabulary_")
    return () if words is None else tuple(map(str, words.tolist()))


def _named_columns(model: Estimator) -> tuple[str, ...]:
    """The columns that the model needs; none if its training data had no header."""
    trained_on = vars(model).get("feature_names_in_")
    names = () if trained_on is None else tuple(map(str, trained_on.tolist()))
    return () if all(name.isdigit() for name in names) else names


def _csv_parts(table: Predictions) -> Iterator[str]:
    line = io.StringIO()
    writer = csv.writer(line, lineterminator="\n")
    for row in chain([table.columns], table.rows()):
        writer.writerow(_cells(row))
        yield line.getvalue()
        line.seek(0)
        line.truncate()


def _json_parts(app: str, source: str, table: Predictions) -> Iterator[str]:
    document = {"app": app, "data": source, "rows": len(table.values[0])}
    rows = (dict(zip(table.columns, row, strict=True)) for row in table.rows())
    return to_json_table(document, "predictions", rows)


def _write(parts: Iterable[str], file: Writer) -> None:
    for part in parts:
        file.write(part)


def _cells(row: tuple[object, ...]) -> list[object]:
    return [inert_cell(cell) if isinstance(cell, str) else cell for cell in row]
