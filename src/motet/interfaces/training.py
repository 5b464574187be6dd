"""Training from Python: `motet.train` for one model, `motet.Cluster` for several."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias, cast, get_args

from motet.apps import APPLICATIONS, load_application
from motet.apps.convergence_warning import warn_unless_converged
from motet.apps.estimator import Estimator, seed_of
from motet.apps.inputs.arrays import as_dataset
from motet.datasets import Dataset, open_dataset
from motet.domain.errors import BadInput, UnknownName
from motet.interfaces.cli.train.cluster_shape import ClusterShape
from motet.interfaces.cli.train.cluster_start import require_ray
from motet.interfaces.trained_model import TrainedModel
from motet.report.training.document import TrainDocument
from motet.runtime.backends.local.cluster import LocalCluster
from motet.runtime.controller.job import Job
from motet.runtime.core.consistency import Consistency, ConsistencyName, consistency_of
from motet.runtime.core.options import StopRule, TrainOptions
from motet.runtime.core.reporting.observers import TrainObserver
from motet.runtime.core.reporting.reports import EpochReport

if TYPE_CHECKING:
    from motet.runtime.backends.ray.cluster import RayCluster

App: TypeAlias = str | os.PathLike[str] | type[Estimator] | Estimator
"""A name ("mlr"), a file ("./mine.py"), a class, or an object with its parameters."""
Callback: TypeAlias = Callable[[EpochReport], object] | TrainObserver
"""Called after each epoch; `EpochReport.epoch` counts from 0."""
_DEFAULT_MACHINES = 4


def train(
    app: App,
    data: Any,
    *,
    machines: int | None = None,
    workers: int | None = None,
    servers: int | None = None,
    address: str | None = None,
    **options: Any,
) -> TrainedModel:
    """Train one model on a parameter server, on a cluster that ends with the training.

    `machines`, `workers`, `servers`: as with `motet train`; by default two machines, each a worker
    and a server. `address`: a Ray cluster to join instead of using processes of this machine.
    `options`: those of `Cluster.train`. Raises BadInput, JobFailed, Unreachable.
    """
    shape = _shape(machines, workers, servers)
    with Cluster(shape.machines, address=address) as cluster:
        return cluster.train(app, data, workers=shape.workers, servers=shape.servers, **options)


class Cluster:
    """Machines for training jobs, several at a time; a context manager that ends its processes.

    `machines`: logical machines of this host, whose executors are processes; with `address`, nodes
    of a running Ray cluster. Raises BadInput, Unreachable.
    """

    def __init__(self, machines: int = _DEFAULT_MACHINES, *, address: str | None = None) -> None:
        _require_whole("machines", machines)
        self._cluster = _cluster(machines, address)
        self._is_closed = False
        self._jobs = ThreadPoolExecutor(thread_name_prefix="motet-job")

    @property
    def machines(self) -> int:
        """How many machines a job may use."""
        return self._cluster.machine_count

    def train(
        self,
        app: App,
        data: Any,
        *,
        workers: int | None = None,
        servers: int | None = None,
        epochs: int | None = None,
        test: Any = None,
        seed: int | None = None,
        until: str | None = None,
        consistency: Literal["bsp", "ssp", "async"] = "bsp",
        staleness: int = 0,
        checkpoint_every: int = 10,
        checkpoints: str | os.PathLike[str] | None = None,
        resume: bool = False,
        callbacks: Iterable[Callback] = (),
        **parameters: Any,
    ) -> TrainedModel:
        """Train a model and wait for it.

        `data`, `test`: a path, the name of a built-in data set, arrays (`X` or `(X, y)`), SciPy
        sparse matrices, DataFrames, or Motet data sets. `workers`, `servers`: numbers of machines
        in that role; by default every machine has both. `epochs`: by default the application's.
        `seed`: by default the application's `random_state`, else 0. `until`: stop early, "loss=X"
        or "improvement=Y"; the application's `tol` ends training, too, and where it is not reached,
        scikit-learn's ConvergenceWarning says so. `checkpoints`: folder to keep checkpoints in,
        from which `resume` continues. `parameters`: of the application, if it is no object. Raises
        BadInput, JobFailed.
        """
        self._require_open()
        made = _application(app, parameters)
        seed = seed_of((made.random_state or 0) if seed is None else seed)
        observers = _observers(callbacks)
        shape = _shape(self.machines, workers, servers)
        run = TrainOptions(
            machines=shape.machines,
            workers=shape.workers,
            servers=shape.servers,
            epochs=_epochs(made, epochs),
            seed=seed,
            consistency=_consistency(consistency, staleness),
            until=None if until is None else StopRule.parse(until),
            checkpoint_every=checkpoint_every,
            checkpoint_dir=None if checkpoints is None else Path(checkpoints),
            resume=_checked_resume(resume, checkpoints),
            tol=made.tol,
        )
        return self._train(made, data, test, run, observers)

    def submit(self, app: App, data: Any, **options: Any) -> Future[TrainedModel]:
        """Begin to train a model beside others; `result()` of the future waits for it.

        `options`: those of `train`.
        """
        self._require_open()
        return self._jobs.submit(self.train, app, data, **options)

    def close(self) -> None:
        """Wait for all jobs, then end the cluster's processes."""
        self._jobs.shutdown()
        self._is_closed = True
        self._cluster.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        if exc_info[0] is not None:  # Jobs that still train end with the processes.
            self._is_closed = True
            self._jobs.shutdown(wait=False, cancel_futures=True)
            self._cluster.close()
        else:
            self.close()

    def _require_open(self) -> None:
        if self._is_closed:
            raise BadInput("the cluster is closed; make another one")

    def _train(
        self,
        made: Estimator,
        data: Any,
        test: Any,
        run: TrainOptions,
        observers: Iterable[TrainObserver],
    ) -> TrainedModel:
        self._preload(made)
        made.set_params(epochs=run.epochs, random_state=run.seed)
        dataset = _dataset(made.dataset_kind, data, "train")
        held_out = None
        if test is not None:
            made.require_testable("test")
            held_out = _dataset(made.dataset_kind, test, "test").reindexed_like(dataset)
        job = Job(made, made.prepared(dataset, run.seed), run, self._cluster)
        for observer in observers:
            job.listen(observer)
        result = job.run()
        warn_unless_converged(made.name, len(result.epochs), result.convergence)
        metrics = {} if held_out is None else made.test_metrics(held_out)
        document = TrainDocument.of(result, dataset.source, run.workers, run.servers, metrics)
        return TrainedModel(made, result, document)

    def _preload(self, app: Estimator) -> None:
        path = f"{type(app).__module__}:{type(app).__name__}"
        if isinstance(self._cluster, LocalCluster) and path in APPLICATIONS.values():
            self._cluster.preload(path)


class _Epochs(TrainObserver):
    """Calls a function after each epoch."""

    def __init__(self, callback: Callable[[EpochReport], object]) -> None:
        self._callback = callback

    def epoch_done(self, report: EpochReport) -> None:
        self._callback(report)


def _cluster(machines: int, address: str | None) -> LocalCluster | RayCluster:
    if address is None:
        return LocalCluster(machines)
    require_ray("address")
    from motet.runtime.backends.ray.cluster import RayCluster

    return RayCluster.join(address, machines=machines)


def _application(app: App, parameters: dict[str, Any]) -> Estimator:
    if isinstance(app, Estimator):
        if parameters:
            raise BadInput(
                f"{', '.join(parameters)}: not an option of train; parameters of an application "
                "object are arguments of its constructor"
            )
        return type(app)(**app.get_params())
    if isinstance(app, type) and issubclass(app, Estimator):
        made = app
    elif isinstance(app, str | os.PathLike):
        made = load_application(os.fspath(app))
    else:
        raise BadInput(
            f"{app!r:.60}: not an application; give a name ('mlr'), a file ('./mine.py'), or a "
            "class or an object that extends motet.apps.estimator.Estimator"
        )
    try:
        return made(**parameters)
    except TypeError as error:
        known = ", ".join(sorted(made().get_params()))
        raise BadInput(f"{made.__name__}: {error}; its parameters are {known}") from None


def _dataset(kind: str, data: Any, role: Literal["train", "test"]) -> Dataset:
    dataset: Dataset
    if isinstance(data, str | os.PathLike):
        dataset = open_dataset(os.fspath(data), kind=kind, role=role)
    elif isinstance(data, tuple) and len(data) == 2:
        dataset = as_dataset(kind, *data)
    else:
        dataset = as_dataset(kind, data)
    return dataset


def _consistency(name: str, staleness: int) -> Consistency:
    if name not in get_args(ConsistencyName):
        raise UnknownName("consistency", name, get_args(ConsistencyName))
    return consistency_of(cast(ConsistencyName, name), staleness)


def _observers(callbacks: Iterable[Callback]) -> list[TrainObserver]:
    if callable(callbacks):
        callbacks = [callbacks]
    wrong = [each for each in callbacks if not (callable(each) or isinstance(each, TrainObserver))]
    if wrong:
        raise BadInput(f"callbacks: {wrong[0]!r:.40} is no function of an EpochReport")
    return [each if isinstance(each, TrainObserver) else _Epochs(each) for each in callbacks]


def _epochs(app: Estimator, epochs: int | None) -> int:
    if epochs is None:
        return int(getattr(app, "epochs", app.default_epochs))
    _require_whole("epochs", epochs)
    return epochs


def _checked_resume(resume: bool, checkpoints: object) -> bool:
    if resume and checkpoints is None:
        raise BadInput("resume=True needs checkpoints=FOLDER, the folder of the run to continue")
    return resume


def _shape(machines: int | None, workers: int | None, servers: int | None) -> ClusterShape:
    for name, count in (("machines", machines), ("workers", workers), ("servers", servers)):
        if count is not None:
            _require_whole(name, count)
    return ClusterShape.of(machines, workers, servers)


def _require_whole(name: str, count: object) -> None:
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise BadInput(f"{name}={count!r:.40}: must be a whole number of at least 1")
