"""The data of `motet.train`: files and names, arrays, DataFrames, Motet data sets."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from motet.apps.inputs.arrays import as_dataset
from motet.datasets import Dataset, open_dataset
from motet.datasets.formats.tables.columns import MISSING, MISSING_ROWS
from motet.datasets.rating_frames import RatingColumns, ratings_from_frame
from motet.domain.errors import BadArgument, BadInput, UnknownName

if TYPE_CHECKING:
    from pandas import DataFrame

ColumnName: TypeAlias = str | int
RatingNames: TypeAlias = str | Mapping[str, ColumnName] | None
NamedColumns: TypeAlias = ColumnName | Iterable[ColumnName] | None
PathArgument: TypeAlias = str | os.PathLike[str]
_LABELLED = "labelled"
_RULES = (MISSING, MISSING_ROWS)


@dataclass(frozen=True)
class DataArguments:
    """How data are read; the arguments of `Cluster.train` of these names."""

    format: str | None = None
    target: ColumnName | None = None
    drop: NamedColumns = None
    na: str | Iterable[str] | None = None
    exclude: PathArgument | None = None
    labels: PathArgument | None = None
    columns: RatingNames = None
    stop_words: PathArgument | None = None

    def dataset(self, kind: str, data: Any, role: Literal["train", "test"]) -> Dataset:
        """The data set that an application needs. `kind`: see `open_dataset`. Raises BadInput."""
        if isinstance(data, str | os.PathLike):
            return self._opened(kind, data, role)
        dataset = self._of_object(kind, data, role)
        # Arrays have no name of their own; messages tell training and test data apart.
        is_named = isinstance(data, Dataset) or role == "train"
        return dataset if is_named else replace(dataset, source=role)

    def check_columns(self, test: Dataset, train: Dataset) -> None:
        """Raise BadInput if named columns of a DataFrame for testing are in another order than in
        training, or more: `score` refuses them, too. `_opened` finds those of files by name.

        `drop` may have left out columns of the training data in which values were missing.
        """
        found = getattr(test, "feature_names", None)
        wanted = getattr(train, "feature_names", None)
        if not found or not wanted:
            return
        known = set(wanted)
        more = [name for name in found if name not in known]
        if more and MISSING not in _listed(self.drop):
            raise BadArgument(
                f"{test.source}: a column {more[0]!r}, which the training data does not have "
                f"({len(more)} more than {len(wanted)}); leave it out"
            )
        both = [name for name in found if name in known]
        if both != [name for name in wanted if name in set(both)]:
            raise BadArgument(
                f"{test.source}: columns in another order than those of the training data; give "
                "both the same order"
            )

    def _of_object(self, kind: str, data: Any, role: Literal["train", "test"]) -> Dataset:
        self._require_none("a file", "format", "na", "exclude", "labels", "stop_words")
        if _is_frame(data):
            return self._of_frame(kind, data, role)
        self._require_none("a file or a DataFrame", "target", "drop", "columns")
        if data is None or isinstance(data, int | float | dict | set):
            raise BadInput(
                f"{_argument(role)}={data!r:.60}: give a path, the name of a "
                "built-in data set, arrays X or (X, y), a DataFrame, or a data set of Motet"
            )
        if isinstance(data, tuple) and len(data) > 2 and getattr(data[0], "ndim", 0) > 1:
            raise BadInput(f"{_argument(role)}: {len(data)} arrays; give X or (X, y)")
        is_pair = isinstance(data, tuple) and len(data) == 2
        dataset: Dataset = as_dataset(kind, *data) if is_pair else as_dataset(kind, data)
        return dataset

    def _opened(self, kind: str, data: PathArgument, role: Literal["train", "test"]) -> Dataset:
        drop = None if self.drop is None else [str(name) for name in _listed(self.drop)]
        return open_dataset(
            os.fspath(data),
            kind=kind,
            format=self.format,
            target=self.target,
            drop=drop,
            na=self.na,
            exclude=self.exclude,
            labels=self.labels,
            columns=self.columns,
            stop_words=self.stop_words,
            role=role,
        )

    def _of_frame(self, kind: str, frame: DataFrame, role: Literal["train", "test"]) -> Dataset:
        if self.target is None and kind == _LABELLED:
            wanted = (
                "target=NAME, its column to predict, or (X, y)" if role == "train" else "(X, y)"
            )
            raise BadInput(f"{_argument(role)}: a DataFrame needs {wanted}")
        names = _listed(self.drop)
        rules = [name for name in names if name in _RULES and name not in frame.columns]
        dropped = [_column(frame, "drop", name) for name in names if name not in rules]
        target = None if self.target is None else _column(frame, "target", self.target)
        if target in dropped:
            raise BadInput(f"target={target!r}: the column is in drop, too; give it once")
        left_out = dropped if target is None else [*dropped, target]
        frame, notes = _without_missing(frame, left_out, target, rules)
        features = frame.drop(columns=[name for name in left_out if name in frame.columns])
        if self.columns is not None:
            return self._named_ratings(kind, features)
        y = None if target is None or kind != _LABELLED else frame[target]
        dataset: Dataset = as_dataset(kind, features, y)
        return replace(dataset, notes=(*dataset.notes, *notes)) if notes else dataset

    def _named_ratings(self, kind: str, frame: DataFrame) -> Dataset:
        if kind != "ratings":
            self._require_none("ratings", "columns")
        named = RatingColumns.of(self.columns)
        return ratings_from_frame(frame, user=named.user, item=named.item, rating=named.rating)

    def _require_none(self, wanted: str, *names: str) -> None:
        given = next((name for name in names if getattr(self, name) is not None), None)
        if given is not None:
            raise BadInput(
                f"{given}={getattr(self, given)!r:.40}: applies to {wanted} only; leave it out"
            )


def _argument(role: Literal["train", "test"]) -> str:
    return "data" if role == "train" else role


def _without_missing(
    frame: DataFrame, left_out: Sequence[Any], target: Any, rules: Sequence[ColumnName]
) -> tuple[DataFrame, tuple[str, ...]]:
    """Leave out columns, then rows, with missing values, as `--drop` does. Raises BadInput."""
    notes = []
    used = [name for name in frame.columns if name not in left_out]
    if MISSING in rules:
        lacking = [name for name in used if frame[name].isna().any()]
        frame, used = frame.drop(columns=lacking), [name for name in used if name not in lacking]
        notes += [f"columns left out because values are missing: {len(lacking)}"] * bool(lacking)
        if not used:
            raise BadInput("data: every column has missing values; fill or remove rows")
    if MISSING_ROWS in rules:
        whole = frame.dropna(subset=[*used, *([] if target is None else [target])])
        lost, frame = len(frame) - len(whole), whole
        notes += [f"rows left out because values are missing: {lost:,}"] * bool(lost)
        if not len(frame):
            raise BadInput("data: every row has missing values; fill or drop columns")
    return frame, tuple(notes)


def _is_frame(data: object) -> bool:
    if not hasattr(data, "columns"):  # Pandas is slow to import.
        return False
    import pandas as pd

    return isinstance(data, pd.DataFrame)


def _listed(columns: Any) -> list[ColumnName]:
    if columns is None:
        return []
    listed = list(columns) if _is_several(columns) else [columns]
    wrong = next((each for each in listed if not isinstance(each, str | int)), None)
    if wrong is not None:
        raise BadInput(f"drop={columns!r:.60}: give names or indices of columns")
    return listed


def _is_several(columns: object) -> bool:
    return isinstance(columns, Iterable) and not isinstance(columns, str)


def _column(frame: DataFrame, argument: str, name: ColumnName) -> Any:
    """The label of a column that is given by its name or its index."""
    if name in frame.columns:
        return name
    if isinstance(name, int) and -len(frame.columns) <= name < len(frame.columns):
        return frame.columns[name]
    raise UnknownName(f"column in {argument}", str(name), map(str, frame.columns))
