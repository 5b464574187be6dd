"""Converts arrays, sparse matrices and DataFrames to the data set kinds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from motet.apps.inputs.number_types import require_real, require_real_columns
from motet.apps.user_warnings.column_vector import warn_of_column_vector
from motet.datasets.kinds import Corpus, Dataset, LabelledMatrix, Ratings
from motet.datasets.kinds.ids import as_ids
from motet.datasets.kinds.target import TargetColumn, target_of
from motet.datasets.rating_frames import LONG_WIDTHS, rating_columns, ratings_from_frame
from motet.domain.arrays import Array
from motet.domain.errors import BadArgument, BadInput

_SOURCE = "X"
_TARGET_REMEDY = "give y: model.fit(X, y), or (X, y) as the data of motet.train"
_FEW_ROWS = 10
_FEWEST_NEW_PAIRS = 0.8


def as_dataset(kind: str, X: Any, y: Any = None) -> Any:
    """Convert `X` (and `y`) to the data set kind that an application needs.

    "labelled", "unlabelled": rows are instances. "ratings": a DataFrame with columns of users,
    items and ratings, or a matrix: rows are users, columns items; a sparse matrix's stored entries
    are the ratings, of a dense one all, of a DataFrame those that are not missing. "corpus": rows
    are documents, columns words, values counts. A Motet data set is taken as it is. Raises
    BadInput.
    """
    if isinstance(X, Dataset):
        return _require_kind(X, kind)
    if kind == "ratings":
        return ratings_of(X)
    if kind == "corpus":
        return corpus_of(X)
    return labelled_of(X, y if kind == "labelled" else None)


def _require_kind(dataset: Dataset, kind: str) -> Dataset:
    classes: dict[str, type[Dataset]] = {"ratings": Ratings, "corpus": Corpus}
    wanted = classes.get(kind, LabelledMatrix)
    if not isinstance(dataset, wanted):
        raise BadArgument(
            f"{dataset.source}: holds {dataset.described}; this application reads "
            f"{wanted.described}"
        )
    return dataset


def labelled_of(X: Any, y: Any = None) -> LabelledMatrix:
    """Convert rows of numbers; `y` of words becomes numbers of classes in alphabetical order."""
    features = finite_matrix(X)
    names = tuple(map(str, X.columns)) if hasattr(X, "columns") else None
    target = None if y is None else _target_of(y, features.shape[0])
    return LabelledMatrix(
        features,
        None if target is None else target.values,
        names,
        None if target is None else target.classes,
        target_remedy=_TARGET_REMEDY,
        other_target="give another y",
        target_source="y",
        source=_SOURCE,
    )


def has_ids(X: Any) -> bool:
    """Whether ratings `X` name users and items; rows and columns of an array have numbers only."""
    return isinstance(X, Ratings) or hasattr(X, "columns")


def ratings_of(X: Any) -> Ratings:
    """Convert a frame with a row per rating, or a user x item matrix. Raises BadInput."""
    if hasattr(X, "columns"):
        return _ratings_of_frame(X)
    matrix = finite_matrix(X)
    _refuse_triples(matrix)
    users, items, values = _entries(matrix)
    user_count, item_count = matrix.shape
    return Ratings(
        users=users.astype(np.int32),
        items=items.astype(np.int32),
        values=values,
        user_ids=np.arange(user_count, dtype=np.int64),
        item_ids=np.arange(item_count, dtype=np.int64),
        source=_SOURCE,
    )


def _ratings_of_frame(frame: Any) -> Ratings:
    """A row per rating if columns are named so, else a table of users x items."""
    found = rating_columns(list(frame.columns))
    if None not in found or frame.shape[1] in LONG_WIDTHS:
        return ratings_from_frame(frame)
    table = _table_of_ratings(frame)
    users, items = np.nonzero(~np.isnan(table))
    return Ratings.from_ids(
        as_ids(frame.index.to_numpy(), "index")[users],
        as_ids(np.array([*frame.columns], dtype=object), "columns")[items],
        table[users, items],
        source=_SOURCE,
    )


def _table_of_ratings(frame: Any) -> NDArray[np.float64]:
    """The numbers of a table of users x items. Raises BadInput."""
    try:
        return _numbers_of_frame(frame)
    except BadInput:
        shown = ", ".join(map(str, frame.columns[:8]))
        raise BadArgument(
            f"{_SOURCE}: neither a row per rating nor a table of numbers, users x items (columns: "
            f"{shown}); motet.ratings_from_frame({_SOURCE}, user=..., item=..., rating=...) names "
            "the columns of a row per rating"
        ) from None


def _refuse_triples(matrix: Any) -> None:
    """Raise BadInput for rows of user, item, rating, which a matrix of ratings is mistaken for."""
    if not isinstance(matrix, np.ndarray) or matrix.shape[1] not in LONG_WIDTHS:
        return
    users, items = matrix[:, 0], matrix[:, 1]
    are_ids = bool(np.all(users == np.floor(users)) and np.all(items == np.floor(items)))
    pairs = len(np.unique(matrix[:, :2], axis=0))
    are_mostly_new = pairs >= _FEWEST_NEW_PAIRS * len(matrix)
    if are_ids and are_mostly_new and pairs > max(len(np.unique(users)), _FEW_ROWS):
        raise BadArgument(
            f"{_SOURCE}: its {matrix.shape[1]} columns look like user, item and rating, a row per "
            "rating, but an array is users x items; give a DataFrame with such columns, or "
            "motet.ratings_from_frame(frame, user=..., item=..., rating=...)"
        )


def corpus_of(X: Any) -> Corpus:
    """Convert a document x word matrix of counts to a corpus."""
    _refuse_texts(X)
    matrix = finite_matrix(X)
    documents, words, counts = _entries(matrix)
    if ((counts < 0) | (counts != np.floor(counts))).any():
        raise BadArgument(f"{_SOURCE}: word counts must be whole numbers of at least 0")
    return Corpus.from_pairs(
        documents.astype(np.int64),
        words.astype(np.int64),
        counts.astype(np.int64),
        (int(matrix.shape[0]), int(matrix.shape[1])),
        source=_SOURCE,
        vocabulary=_words_of(X),
    )


def _words_of(X: Any) -> tuple[str, ...] | None:
    """The names of a DataFrame's columns; numbers of columns are no words."""
    names = tuple(map(str, X.columns)) if hasattr(X, "columns") else ()
    return None if all(name.isdigit() for name in names) else names


def _refuse_texts(X: Any) -> None:
    """Raise BadInput for documents that are texts instead of counts of words."""
    is_text = isinstance(X, str)
    if isinstance(X, list | tuple) or getattr(X, "ndim", 0) == 1:
        is_text = any(isinstance(document, str) for document in X)
    if is_text:
        raise BadArgument(
            f"{_SOURCE}: holds texts; count their words first, for example with scikit-learn's "
            "CountVectorizer().fit_transform(X)"
        )


def finite_matrix(X: Any) -> Any:
    """Convert to float64, C-contiguous or CSR with sorted, unique columns. Raises BadInput."""
    matrix: Any
    if hasattr(X, "columns"):
        values = matrix = _numbers_of_frame(X)
    elif hasattr(X, "tocsr"):
        from scipy.sparse import csr_matrix

        require_real(X, _SOURCE)
        matrix = csr_matrix(X, dtype=np.float64)
        if not matrix.has_canonical_format:
            matrix = matrix.copy()
            matrix.sum_duplicates()
        values = matrix.data
    else:
        try:
            array = np.asarray(X)
            require_real(array, _SOURCE)
            values = matrix = np.ascontiguousarray(array, dtype=np.float64)
        except BadInput:
            raise
        except (TypeError, ValueError) as error:
            raise BadArgument(f"{_SOURCE}: not a matrix of numbers ({error})") from None
    if matrix.ndim != 2:
        raise BadArgument(f"{_SOURCE}: {matrix.ndim} dimensions; it must have 2 (rows, columns)")
    if not np.isfinite(values).all():
        place = _unusable_column(X, matrix) if hasattr(X, "columns") else ""
        raise BadArgument(
            f"{_SOURCE}: {place}holds NaN or infinite values; fill or remove them first"
        )
    return matrix


def _unusable_column(frame: Any, numbers: NDArray[np.float64]) -> str:
    """`column 'age' (and 2 more) `: the first one that holds NaN or infinity."""
    found = np.flatnonzero(~np.isfinite(numbers).all(axis=0))
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return f"column {frame.columns[found[0]]!r}{more} "


def _numbers_of_frame(frame: Any) -> NDArray[np.float64]:
    """The numbers of a DataFrame. Raises BadInput for a column of text, categories or dates."""
    require_real_columns(frame, _SOURCE)
    try:
        return np.ascontiguousarray(frame.to_numpy(dtype=np.float64, na_value=np.nan))
    except (TypeError, ValueError):
        for position, name in enumerate(frame.columns):
            column = frame.iloc[:, position]
            if not _is_numeric(column):
                shown = ", ".join(repr(value) for value in column.drop_duplicates()[:3])
                raise BadArgument(
                    f"{_SOURCE}: column {name!r} holds {shown}, not numbers; encode it, for "
                    "example with pandas.get_dummies(X) or scikit-learn's OneHotEncoder, or drop it"
                ) from None
        raise


def _is_numeric(column: Any) -> bool:
    try:
        column.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        return False
    return True


def _entries(matrix: Any) -> tuple[Array, Array, NDArray[np.float64]]:
    """Return row, column and value of all entries (dense) or of all stored entries (sparse)."""
    if isinstance(matrix, np.ndarray):
        rows, columns = np.indices(matrix.shape)
        return rows.ravel(), columns.ravel(), matrix.ravel()
    coordinates = matrix.tocoo()
    return coordinates.row, coordinates.col, coordinates.data


def _target_of(y: Any, row_count: int) -> TargetColumn:
    require_real(y, "y")
    target = np.asarray(y)
    require_real(target, "y")
    if target.ndim == 2 and target.shape[1] == 1:
        warn_of_column_vector()
        target = target[:, 0]
    if target.ndim != 1 or len(target) != row_count:
        raise BadArgument(
            f"y has shape {target.shape}; X has {row_count} rows, so y must be ({row_count},)"
        )
    found = target_of(target, "y")
    if not np.isfinite(found.values).all():
        raise BadArgument("y: holds NaN or infinite values; remove those rows first")
    return found
