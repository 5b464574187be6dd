"""An application as a scikit-learn estimator: `fit` on arrays, `save`, `load`, `clone`, `Pipeline`.

`fit` runs the mini-batch loop and the kernels of a cluster in this process; with one seed both
give the same model. The constructor's arguments are the hyper-parameters and are stored unchanged;
`prepare` checks them before any machine is allocated.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np

from motet.apps.inputs.arrays import as_dataset
from motet.apps.model_file import read_model, write_model
from motet.apps.user_warnings.convergence_warning import warn_unless_converged
from motet.apps.user_warnings.unnamed_features import warn_of_unnamed_features
from motet.datasets.kinds import LabelledMatrix
from motet.domain.arrays import Array
from motet.domain.errors import BadArgument
from motet.runtime.blas_threads import one_blas_thread
from motet.runtime.core.application import Application, ModelTable
from motet.runtime.core.convergence import Convergence, has_converged
from motet.runtime.core.rows import Rows
from motet.runtime.worker.local_training import LocalTraining

EstimatorType = Literal["classifier", "regressor", "clusterer"]
_OF_EVERY_RUN = ("epochs", "random_state")


class Estimator(Application):
    """Base class of the applications in `motet.apps`, and of your own (docs/applications.md).

    A subclass's `__init__` stores its arguments under their own names, `epochs` and `random_state`
    among them. Fitted attributes end in `_`; they hold arrays, numbers, strings or tuples of them.
    """

    estimator_type: ClassVar[EstimatorType | None] = None
    """The estimator type for scikit-learn; None: a transformer."""
    fitted_attribute: ClassVar[str] = "coef_"
    """An attribute that `adopt` sets and `prepare` does not: where it is, the model is fitted."""
    epochs: int
    random_state: int | None

    n_features_in_: int
    feature_names_in_: Array

    def set_run(self, epochs: int, seed: int) -> Self:
        """Set the epochs and the seed of a run.

        Raises BadInput for a class whose constructor has no such arguments.
        """
        lacking = [name for name in _OF_EVERY_RUN if name not in self.get_params()]
        if lacking:
            raise BadArgument(
                f"{self.name}: __init__ of {type(self).__name__} has no argument "
                f"{' and no '.join(lacking)}; add it with a default, and store it under its name"
            )
        return self.set_params(epochs=epochs, random_state=seed)

    def learn_features(self, dataset: LabelledMatrix) -> None:
        """Keep the number of features and, if the data have them, their names."""
        self.n_features_in_ = dataset.feature_count
        vars(self).pop("feature_names_in_", None)
        if dataset.has_column_names:
            self.feature_names_in_ = np.array(dataset.feature_names, dtype=np.str_)

    def prepared(self, dataset: Any, seed: int) -> Rows:
        """`prepare`, after the features' number and names have been kept. Raises BadInput."""
        self.check_number("tol", at_least=0)
        if isinstance(dataset, LabelledMatrix):
            self.learn_features(dataset)
        return self._checked(self.prepare(dataset, seed))

    def _checked(self, rows: object) -> Rows:
        """What `prepare` returned, and what `model_table` will. Raises BadInput."""
        if not isinstance(rows, Rows):
            kind = type(rows).__name__
            raise BadArgument(f"{self.name}: prepare returned {kind}; return Rows(ids, columns)")
        for name, column in rows.columns.items():
            if len(column) != len(rows):
                raise BadArgument(
                    f"{self.name}: prepare returned {len(rows):,} ids and a column {name!r} of "
                    f"{len(column):,} instances; give an id for each"
                )
        table: object = self.model_table()
        if not isinstance(table, ModelTable):
            kind = type(table).__name__
            raise BadArgument(f"{self.name}: model_table returned {kind}; return a ModelTable")
        return rows

    @one_blas_thread()
    def fit(self, X: Any, y: Any = None) -> Self:
        """Train in this process on arrays, SciPy sparse matrices, DataFrames or a Motet data set.

        Afterwards `loss_curve_: (epochs,)` holds the loss after each epoch. Warns with
        scikit-learn's ConvergenceWarning where `epochs` end before the residual is at most `tol`.
        Raises BadInput.
        """
        self.check_number("epochs", at_least=1, whole=True)
        seed = seed_of(self.random_state)
        training = LocalTraining(
            self, self.prepared(as_dataset(self.dataset_kind, X, y), seed), seed
        )
        losses: list[float] = []
        for report in training.epochs(self.epochs):
            losses.append(report.loss)
            if has_converged(report.residual, self.tol):
                break
        self.become_fitted(training.model.values, training.final_rows())
        self.loss_curve_ = np.array(losses)
        found = Convergence.after(self.residual_name, report.residual, self.tol)
        warn_unless_converged(type(self).__name__, self.epochs, found)
        return self

    def warm_up(self) -> None:
        """Compile the kernels on tiny data, so that no mini-batch includes the compilation."""

    # -- held-out data -----------------------------------------------------------------------------

    @classmethod
    def require_testable(cls, option: str) -> None:
        """Raises BadInput, which names the option, unless `test_metrics` works for this class."""
        has_own = cls.test_metrics is not Estimator.test_metrics
        if not (has_own or _has(cls, "score") or _predicts(cls)):
            raise BadArgument(
                f"{option}: {cls.name} defines neither predict nor score nor test_metrics; define "
                f"one of them, or leave {option} out"
            )

    def test_metrics(self, dataset: Any) -> dict[str, float]:
        """Metrics on held-out data, by default from `predict` and `score`.

        On labelled data, `predict` gives `test_accuracy` of classifiers and `test_rmse` of others;
        `score`, where the class defines it, gives `test_score`. Both get the features as an array
        or a CSR matrix.
        """
        app: Any = self
        is_labelled = self.dataset_kind == "labelled"
        known = (dataset.features, dataset.target_numbers()) if is_labelled else (dataset,)
        metrics: dict[str, float] = {}
        if _predicts(type(self)):
            metrics |= _prediction_metrics(self, *known)
        if _has(type(self), "score"):
            metrics["test_score"] = _one_number(app, app.score(*known))
        return metrics

    # -- on disk -----------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model as npz without pickles: one array per fitted attribute."""
        self.check_fitted()
        write_model(path, self.name, self.get_params(), self.get_state())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Load the model from a file of `save`. Raises BadInput for any other file."""
        header, state = read_model(path)
        if header["application"] != cls.name:
            raise BadArgument(
                f"{path}: holds a model of {header['application']!r}, not of {cls.name!r}; "
                "load it with that application's class or with motet.apps.load_model"
            )
        try:
            model = cls(**header["parameters"])
        except TypeError as error:
            raise BadArgument(f"{path}: not a model that Motet saved ({error!s:.200})") from None
        for name, value in state.items():
            setattr(model, name, value.item() if value.ndim == 0 else value)
        model.is_adopted = True
        return model

    def get_state(self) -> dict[str, Array]:
        """Every fitted attribute that is not None, as an array without Python objects."""
        fitted = {key: value for key, value in super().get_state().items() if value.dtype != object}
        return dict(sorted(fitted.items()))

    # -- checks ------------------------------------------------------------------------------------

    def check_fitted(self) -> None:
        """Raise scikit-learn's NotFittedError unless the model has been fitted or loaded."""
        if not self.__sklearn_is_fitted__():
            raise _not_fitted(self)

    def check_number(
        self,
        name: str,
        *,
        at_least: float | None = None,
        above: float | None = None,
        at_most: float = float("inf"),
        whole: bool = False,
    ) -> None:
        """Raise BadInput unless the hyper-parameter `name` is a number within its limits."""
        value = getattr(self, name)
        kinds = (int, np.integer) if whole else (int, float, np.integer, np.floating)
        is_number = isinstance(value, kinds) and not isinstance(value, bool)
        is_finite = is_number and (isinstance(value, int) or bool(np.isfinite(value)))
        low_enough = is_finite and value <= at_most
        if (
            low_enough
            and (at_least is None or value >= at_least)
            and (above is None or value > above)
        ):
            return
        limits = [f"at least {at_least:g}"] if at_least is not None else []
        limits += [f"above {above:g}"] if above is not None else []
        limits += [f"at most {at_most:g}"] if np.isfinite(at_most) else []
        kind = "a whole number" if whole else "a number"
        raise BadArgument(
            f"{self.name}: {name}={value!r} must be {kind} {' and '.join(limits)}".rstrip()
        )

    # -- what scikit-learn asks for --------------------------------------------------------------

    if not TYPE_CHECKING:  # else a type checker accepts every misspelt attribute

        def __getattr__(self, name: str) -> Any:
            """Raise NotFittedError for a fitted attribute before `fit`, else AttributeError."""
            if name.endswith("_") and not name.startswith("_") and not self.__sklearn_is_fitted__():
                raise _not_fitted(self, f", so it has no {name!r}")
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __sklearn_is_fitted__(self) -> bool:
        return self.is_adopted or self.fitted_attribute in vars(self)

    def __sklearn_tags__(self) -> Any:
        from sklearn import utils

        kind = self.estimator_type
        return utils.Tags(
            estimator_type=kind,
            target_tags=utils.TargetTags(required=self.dataset_kind == "labelled"),
            transformer_tags=None
            if kind in ("classifier", "regressor")
            else utils.TransformerTags(),
            classifier_tags=utils.ClassifierTags() if kind == "classifier" else None,
            regressor_tags=utils.RegressorTags() if kind == "regressor" else None,
            input_tags=utils.InputTags(sparse=True),
        )

    def _repr_html_(self) -> str:
        """As scikit-learn shows its estimators: parameters, and whether it is fitted."""
        from sklearn.utils import estimator_html_repr

        return str(estimator_html_repr(self))

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self)).parameters
        shown = [
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if repr(value) != repr(defaults[name].default)
        ]
        return f"{type(self).__name__}({', '.join(shown)})"


def _predicts(app: type[Estimator]) -> bool:
    return app.dataset_kind == "labelled" and _has(app, "predict")


def _has(app: type[Estimator], method: str) -> bool:
    return callable(getattr(app, method, None))


def _one_number(app: Any, score: Any) -> float:
    if np.ndim(score) != 0 or np.asarray(score).dtype.kind not in "biuf":
        raise BadArgument(f"{app.name}: score returned {score!r:.40}; it must return a number")
    return float(score)


def _prediction_metrics(app: Any, features: Any, target: Array) -> dict[str, float]:
    predicted = np.asarray(app.predict(features))
    if predicted.shape != target.shape:
        raise BadArgument(
            f"{app.name}: predict returned shape {predicted.shape} for {len(target)} rows; it must "
            f"return {target.shape}"
        )
    if app.estimator_type == "classifier":
        return {"test_accuracy": float(np.mean(predicted == target))}
    if predicted.dtype.kind not in "biuf":
        raise BadArgument(
            f"{app.name}: predict returned {str(predicted.flat[0])!r:.40}; it must return numbers, "
            'or the class needs estimator_type = "classifier"'
        )
    return {"test_rmse": float(np.sqrt(np.mean((predicted - target) ** 2)))}


def seed_of(random_state: int | None) -> int:
    """Return a seed of 0 or more; None draws a new one. Raises BadInput."""
    if random_state is None:
        return int(np.random.default_rng().integers(1 << 31))
    if not isinstance(random_state, (int, np.integer)) or random_state < 0:
        raise BadArgument(
            f"random_state={random_state!r} must be None or a whole number of at least 0"
        )
    return int(random_state)


def check_columns(found: int, expected: int, what: str = "features") -> None:
    """Raise BadInput unless data to predict on has as many `what` as the training data had."""
    if found != expected:
        raise BadArgument(f"X has {found} {what}, but the model was fitted with {expected}")


def features_for(model: Estimator, X: Any) -> Any:
    """Return the features for a prediction.

    Raises BadInput for another number of them than in training, other names or another order;
    warns of names if training had none.
    """
    model.check_fitted()
    dataset = as_dataset("unlabelled", X)
    trained_on = vars(model).get("feature_names_in_")
    if trained_on is not None and dataset.has_column_names:
        check_names(dataset.feature_names, trained_on.tolist())
    elif dataset.has_column_names:
        warn_of_unnamed_features(dataset.source, type(model).__name__)
    count = dataset.feature_count
    check_columns(count, vars(model).get("n_features_in_", count))
    return dataset.features


def check_names(
    found: Sequence[str], wanted: list[str], attribute: str = "feature_names_in_"
) -> None:
    """Raise BadInput unless the columns of data have the names of training, in their order.

    `attribute`: the model's attribute that holds those names.
    """
    if list(found) == wanted:
        return
    known = set(found)
    missing = [name for name in wanted if name not in known]
    if missing:
        raise BadArgument(
            f"X has no column {missing[0]!r}, which the training data had ({len(missing)} of "
            f"{len(wanted)} are missing)"
        )
    more = [name for name in found if name not in wanted]
    if more:
        raise BadArgument(
            f"X has a column {more[0]!r}, which the training data did not have ({len(more)} more "
            f"than {len(wanted)}); use X[model.{attribute}]"
        )
    raise BadArgument(
        f"X has its columns in another order than the training data; use X[model.{attribute}]"
    )


def _not_fitted(model: Estimator, what_lacks: str = "") -> Exception:
    """Create scikit-learn's NotFittedError (also an AttributeError) with a late import."""
    from sklearn.exceptions import NotFittedError

    message = f"this {type(model).__name__} is not fitted{what_lacks}; call fit or load first"
    error: Exception = NotFittedError(message)
    return error
