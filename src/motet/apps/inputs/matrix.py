"""Checks of matrices before training and before predicting."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from motet.apps.inputs.memory import FEATURE_COPIES
from motet.datasets.kinds import LabelledMatrix
from motet.datasets.kinds.target import begins_with_date, holds_words
from motet.domain.arrays import Array
from motet.domain.errors import BadArgument

_DENSE_SHARE = 1 / 3


def require_entries(dataset: LabelledMatrix) -> None:
    """Raise BadInput if there are no rows or no columns; before other checks, which need some."""
    rows, columns = dataset.features.shape
    if rows == 0 or columns == 0:
        raise BadArgument(
            f"{dataset.source}: {rows} rows and {columns} feature columns; "
            "training needs at least one of each"
        )


def finite_features(dataset: LabelledMatrix) -> Any:
    """Return the features, dense or CSR. Raises BadInput for none, NaN or infinity."""
    require_entries(dataset)
    features: Any = dataset.features
    values = features if isinstance(features, np.ndarray) else features.data
    if not np.isfinite(values.sum()) and not np.isfinite(values).all():
        raise BadArgument(
            f"{dataset.source}: holds NaN or infinite values{_place(features)}; "
            "remove or fill them (CSV: --drop missing leaves out columns with missing values)"
        )
    return features


def nonzero_share(features: Any) -> float:
    """Return the part of all entries that is not 0, in whichever form they are stored."""
    values = features if isinstance(features, np.ndarray) else features.data
    return float(np.count_nonzero(values) / math.prod(features.shape))


def training_features(dataset: LabelledMatrix) -> Any:
    """Return finite features, stored by content. Raises BadInput for none, NaN or infinity."""
    return stored_by_content(finite_features(dataset))


def stored_by_content(features: Any) -> Any:
    """Return the matrix dense if at least a third of its entries are not 0, else as CSR.

    So the form in which data are given changes no bit of the computation. Neither form takes more
    than twice the memory of the other there.
    """
    is_dense = isinstance(features, np.ndarray)
    if nonzero_share(features) >= _DENSE_SHARE:
        return features if is_dense else features.toarray()
    if not is_dense and features.has_canonical_format and np.all(features.data):
        return features
    from scipy.sparse import csr_matrix  # Its import takes longer than a small training.

    sparse = csr_matrix(features, copy=True)
    sparse.sum_duplicates()
    sparse.eliminate_zeros()
    return sparse


def training_bytes(dataset: LabelledMatrix) -> int:
    """Return the bytes of the copies of the features that training makes."""
    features: Any = dataset.features
    if isinstance(features, np.ndarray):
        return FEATURE_COPIES * features.nbytes
    return FEATURE_COPIES * int(features.data.nbytes + features.indices.nbytes)


def varying_target(dataset: LabelledMatrix) -> Array:
    """Return the target of a regression. Raises BadInput for words, NaN or a constant target."""
    target, source = dataset.target_numbers(), dataset.source_of_target
    if dataset.classes is not None and holds_words(dataset.classes):
        shown = ", ".join(map(str, dataset.classes[:3]))
        if all(begins_with_date(str(each)) for each in dataset.classes):
            raise BadArgument(
                f"{source}: the target holds dates ({shown}); convert them to numbers, "
                f"for example days since the first, or {dataset.other_target}"
            )
        raise BadArgument(
            f"{source}: the target holds words ({shown}); "
            f"a regression needs numbers: use mlr, or {dataset.other_target}"
        )
    if not np.isfinite(target).all():
        row = int(np.flatnonzero(~np.isfinite(target))[0])
        raise BadArgument(f"{source}: the target of row {row} is {target[row]}; remove it")
    if target.min() == target.max():
        raise BadArgument(
            f"{source}: the target is {target[0]:g} in all {len(target)} rows, so there is "
            f"nothing to learn; {dataset.other_target}"
        )
    return target


def regression_test_metrics(predicted: Array, target: Array) -> dict[str, float]:
    """Return test_rmse and test_r2 of predictions `(rows,)`; no R^2 for a constant target."""
    mean_square = float(np.mean((predicted - target) ** 2))
    variance = float(np.var(target))
    r2 = {"test_r2": 1 - mean_square / variance} if variance else {}
    return {"test_rmse": math.sqrt(mean_square), **r2}


def _place(features: Any) -> str:
    if not isinstance(features, np.ndarray):
        return ""
    row, column = np.argwhere(~np.isfinite(features))[0]
    return f" (row {row}, feature {column})"
