"""The application protocol: the methods of a training application, independent of machines.

One class, one file. The same object is a scikit-learn
style estimator: its constructor arguments are its hyper-parameters, `fit` runs the same
kernels in this process, `save`/`load` keep the fitted model, which needs no cluster.

The calls of one training run:

    rows  = app.prepare(dataset, seed)        driver: validate, learn shapes, make instances + state
    table = app.model_table()                 driver: keys, value shape, dtype
    model = app.initial_model(rows, seed)     driver: the values that training starts from
    per mini-batch, on every worker:
        batch  = app.make_batch(rows)         of some of its instances; kept as memory allows
        update = app.compute(batch, model, step)
    per mini-batch, at the owner of each block, once all updates are summed:
        app.apply(values, delta, step)        in place
    per epoch:
        sums = app.evaluate(rows, model)      every worker, on its instances; summed over workers
        evaluation = app.summarise(model, sums)
    app.adopt(model, rows)                    driver: become a fitted estimator
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

import numpy as np

from motet.domain.arrays import Array, Indices
from motet.runtime.core.partition import PartitionKind
from motet.runtime.core.rows import Rows


@dataclass(frozen=True)
class ModelTable:
    """The shape of a model: `key_count` keys, each with a value of `value_shape` and `dtype`.

    `exchange`: what workers and servers send each other. "rows": a pull brings the values of a
    mini-batch's keys, a push a delta for each. "changes", for integers: a worker keeps a copy of
    the whole model; a pull brings what has changed in it, a push single changes
    (`Update.is_changes`). Then `Batch.keys` is None and `apply` is `core.changes.add_changes`.
    """

    key_count: int
    value_shape: tuple[int, ...]
    dtype: np.dtype[Any]
    partition: PartitionKind = "range"
    # What a push carries per key when that differs from the value (K-means pushes sums and counts).
    delta_shape: tuple[int, ...] | None = None
    delta_dtype: np.dtype[Any] | None = None
    exchange: Literal["rows", "changes"] = "rows"

    def __post_init__(self) -> None:
        # A type such as np.float64 or float is what NumPy takes everywhere else.
        object.__setattr__(self, "dtype", np.dtype(self.dtype))
        if self.delta_dtype is not None:
            object.__setattr__(self, "delta_dtype", np.dtype(self.delta_dtype))
        if self.exchanges_changes and (self.dtype.kind not in "iu" or self.partition != "range"):
            raise ValueError(
                f"dtype={self.dtype}, partition={self.partition!r}: exchange='changes' is for "
                "integers in partition 'range'"
            )

    @cached_property
    def exchanges_changes(self) -> bool:
        """Whether `exchange` is "changes"."""
        return self.exchange == "changes"

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the whole model as one array."""
        return (self.key_count, *self.value_shape)

    def zeros(self, keys: Indices | None) -> Array:
        """Read-only zeros in place of the values of `keys` (None: all); they take no memory."""
        length = self.key_count if keys is None else len(keys)
        return np.broadcast_to(np.zeros((), self.dtype), (length, *self.value_shape))

    @property
    def value_bytes(self) -> int:
        """Bytes of one key's value."""
        return int(np.prod(self.value_shape, dtype=np.int64)) * self.dtype.itemsize

    @property
    def delta_bytes(self) -> int:
        """Of one key's delta."""
        size = int(np.prod(self.delta_value_shape, dtype=np.int64))
        return size * self.delta_value_dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of the whole model."""
        return self.key_count * self.value_bytes

    @cached_property
    def delta_value_shape(self) -> tuple[int, ...]:
        """Shape of one key's delta."""
        return self.value_shape if self.delta_shape is None else self.delta_shape

    @cached_property
    def delta_value_dtype(self) -> np.dtype[Any]:
        """Dtype of a delta."""
        return self.dtype if self.delta_dtype is None else self.delta_dtype


@dataclass(frozen=True)
class Step:
    """Where in the training a mini-batch stands; equal on every worker and server.

    `instances` counts the mini-batch's instances over ALL workers, `instance_count` the whole data
    set. `statistics` holds the sums, over all workers, of what `compute` reported for this
    mini-batch (only `apply` sees it), in the order of `Application.statistics`. `share` is the part
    of the mini-batch that the applied delta covers: 1 in BSP; under SSP and async each worker's
    push is applied by itself, and regularisation is scaled by it.
    """

    epoch: int
    batch: int
    batch_count: int
    clock: int
    instances: int
    instance_count: int
    seed: int
    share: float = 1.0
    statistics: tuple[float, ...] = ()


@dataclass(frozen=True)
class Batch:
    """A worker's part of one mini-batch, or a piece of it, used in every epoch.

    `keys`: the sorted, unique model keys that `compute` needs (None: all). `extras`: what the
    application derives from the rows (for example column indices translated to positions in
    `keys`); `compute` must not change it, because batches may be made again.
    """

    rows: Rows
    keys: Indices | None = None
    extras: Any = None


@dataclass(frozen=True)
class Update:
    """What a worker contributes to one mini-batch.

    `delta`: one row per pulled key, `(len(keys) or key_count, *delta_shape)`; `statistics`: floats
    that are summed over all workers and shown to `apply` (`Application.statistics` names them).
    `is_changes`: `delta` is `(2, n)`, flat positions in the whole model, row after row, and what is
    added there (the model's table has `exchange="changes"`).
    """

    delta: Array
    statistics: tuple[float, ...] = ()
    is_changes: bool = False


@dataclass(frozen=True)
class Evaluation:
    """The loss (what training lowers and what `--until loss=` reads) and named metrics.

    `residual`: the distance from the optimum, in the measure that `Application.residual_name`
    names; None: the relative change of the loss, or of `Application.lowered_metric`, takes its
    place.
    """

    loss: float
    metrics: Mapping[str, float] = field(default_factory=dict)
    residual: float | None = None


class Application(ABC):
    """Base class of all training applications."""

    name: ClassVar[str]
    dataset_kind: ClassVar[str]
    """Which datasets it reads: "labelled", "unlabelled", "ratings" or "corpus"."""
    statistics: tuple[str, ...] = ()
    """Names of what `compute` reports in `Update.statistics`."""
    state_columns: tuple[str, ...] = ()
    """Columns of `Rows` that `compute` changes in place; they are checkpointed. `prepare` may set
    this and `needs_bsp`, if they depend on parameters or data."""
    batch_size: int = 0
    """Instances per mini-batch over all workers; 0: the whole data set."""
    default_epochs: ClassVar[int] = 20
    tol: float = 0.0
    """Training has converged once the residual is at most this (0: all epochs are trained)."""
    residual_name: str = "change of the loss per epoch"
    """What `Evaluation.residual` measures."""
    lowered_metric: ClassVar[str] = ""
    """Of the metrics, what training lowers where that is not the loss: then the residual is its
    change."""
    improvement_epochs: ClassVar[int] = 1
    """Without a residual: the change of the loss is one between means over so many epochs."""
    needs_bsp: bool = False
    """True when `apply` is only right for the sum over all workers (K-means, Lasso)."""
    without_bsp: str = ""
    """A setting that makes `needs_bsp` false, for error messages ("solver=saga")."""

    # -- data and model --------------------------------------------------------------------------

    @abstractmethod
    def prepare(self, dataset: Any, seed: int) -> Rows:
        """Check the data set, learn what depends on it (attributes ending in `_`), make instances.

        Raises BadInput for data that this application cannot train on.
        """

    @abstractmethod
    def model_table(self) -> ModelTable:
        """The model's shape; called after `prepare`."""

    @abstractmethod
    def initial_model(self, rows: Rows, seed: int) -> Array:
        """The values that training starts from, `model_table().shape`.

        The same for the same rows and seed: it is called again if training starts over.
        """

    def warm_up(self) -> None:
        """Compile kernels on tiny data, so that no mini-batch pays for it; nothing by default."""
        return

    # -- one mini-batch --------------------------------------------------------------------------

    def make_batch(self, rows: Rows) -> Batch:
        """Instances of one mini-batch as a `Batch`; by default it pulls all keys."""
        return Batch(rows)

    def reads_model(self, step: Step) -> bool:
        """Return whether `compute` reads the values in this mini-batch.

        If not, no values are pulled, and `compute` gets zeros that take no memory.
        """
        del step
        return True

    @abstractmethod
    def compute(self, batch: Batch, model: Array, step: Step) -> Update:
        """COMP: from the pulled values `(len(batch.keys) or key_count, *value_shape)` to an update.

        Must not change `model`. May change the batch's state columns. Randomness only from
        (step.seed, instance id, step.epoch), never from a global generator.
        """

    @abstractmethod
    def apply(self, values: Array, delta: Array, step: Step) -> None:
        """Change one block's `values (rows, *value_shape)` in place by the summed `delta`.

        If the table exchanges changes, `delta` holds those of all workers, `(2, n)`.
        """

    # -- evaluation ------------------------------------------------------------------------------

    @abstractmethod
    def evaluate(self, rows: Rows, model: Array) -> Array:
        """Sums over these instances, `(m,) float64`; workers' results are added."""

    @abstractmethod
    def summarise(self, model: Array, sums: Array, rows_count: int) -> Evaluation:
        """From the sums over all `rows_count` instances and the whole model to loss and metrics."""

    # -- the fitted estimator --------------------------------------------------------------------

    @abstractmethod
    def adopt(self, model: Array, rows: Rows) -> None:
        """Become fitted: set the public attributes (`coef_`, `components_`, ...).

        `rows` are all instances with their final state columns, ordered by id.
        """

    is_adopted: bool = False
    """Whether a finished run has called `adopt`."""

    def become_fitted(self, model: Array, rows: Rows) -> None:
        """`adopt` at the end of a run."""
        self.adopt(model, rows)
        self.is_adopted = True

    def test_metrics(self, dataset: Any) -> dict[str, float]:
        """Metrics of the fitted model on held-out data; keys start with `test_`."""
        raise NotImplementedError(f"{self.name} has no held-out metrics")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Hyper-parameters by name (scikit-learn convention)."""
        del deep
        names = inspect.signature(type(self)).parameters
        lacking = [name for name in names if name not in vars(self) and not hasattr(self, name)]
        if lacking:
            from motet.domain.errors import BadArgument

            raise BadArgument(
                f"__init__ of {type(self).__name__} does not store its argument {lacking[0]}; add "
                f"self.{lacking[0]} = {lacking[0]}"
            )
        return {name: getattr(self, name) for name in names}

    def set_params(self, **params: Any) -> Self:
        """Change hyper-parameters; an unknown name raises BadInput."""
        from motet.domain.errors import UnknownName

        known = self.get_params()
        for name, value in params.items():
            if name not in known:
                raise UnknownName(f"parameter of {self.name}", name, sorted(known))
            setattr(self, name, value)
        return self

    def get_state(self) -> dict[str, Array]:
        """Every fitted attribute (name ends in one `_`) as an array: what `save` writes."""
        return {
            key: np.asarray(value)
            for key, value in vars(self).items()
            if key.endswith("_") and not key.startswith("_")
        }
