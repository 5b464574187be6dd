"""Training from Python: `motet.train` for one model, `motet.Cluster` for several."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self
from weakref import WeakSet

from motet.apps import APPLICATIONS
from motet.apps.estimator import Estimator
from motet.apps.user_warnings.convergence_warning import warn_unless_converged
from motet.domain.errors import BadInput
from motet.interfaces.cli.train.address import require_listener
from motet.interfaces.cli.train.cluster_start import require_ray
from motet.interfaces.python_messages import python_arguments
from motet.interfaces.trained_model import TrainedModel
from motet.interfaces.training_arguments import (
    App,
    Callback,
    CheckedTraining,
    TrainArguments,
    shape_of,
)
from motet.interfaces.training_data import ColumnName, NamedColumns, PathArgument, RatingNames
from motet.interfaces.training_job import TrainingJob
from motet.interfaces.training_settings.held_out_metrics import (
    held_out_metrics,
    rehearse_held_out_metrics,
)
from motet.interfaces.training_settings.parameters import require_whole
from motet.interfaces.training_settings.spill_lenders import DISK
from motet.report.rendering.quantities import count_text
from motet.report.training.document import TrainDocument
from motet.runtime.backends.local.cluster import LocalCluster
from motet.runtime.blas_threads import one_blas_thread
from motet.runtime.controller.checkpoints.folder import CheckpointFolder
from motet.runtime.controller.checkpoints.identity import identity_of
from motet.runtime.controller.job import Job
from motet.runtime.controller.job_plan import plan_job
from motet.runtime.core.consistency import ConsistencyName
from motet.runtime.core.options import DEFAULT_LOST_AFTER_S, TrainOptions
from motet.runtime.core.rows import Rows

if TYPE_CHECKING:
    from motet.runtime.backends.ray.cluster import RayCluster

_DEFAULT_MACHINES = 4


@python_arguments
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
    The other arguments are those of `Cluster.train`. Raises BadInput, JobFailed, Unreachable.

    >>> found = motet.train("mlr", "digits", workers=2, servers=1, l2=0.001)
    >>> found.losses["loss"].iloc[-1], found.metrics["accuracy"]
    >>> motet.train("lasso", frame, target="price", test=held_out).plot_loss()
    """
    shape = shape_of(machines, workers, servers)
    with Cluster(shape.machines, address=address) as cluster:
        return cluster.train(app, data, workers=shape.workers, servers=shape.servers, **options)


class Cluster:
    """Machines for training jobs, several at a time; a context manager that ends its processes.

    `machines`: logical machines of this host, whose executors are processes; with `address`, nodes
    of a running Ray cluster. `interleave`: jobs on one machine take turns, so that `cpu_tokens` of
    them compute while another one communicates (not with `address`). Raises BadInput, Unreachable.

    >>> with motet.Cluster(machines=4) as cluster:
    ...     jobs = [cluster.submit("mlr", "digits", l2=l2) for l2 in (0.0, 0.01)]
    ...     models = [job.result() for job in jobs]
    """

    @python_arguments
    def __init__(
        self,
        machines: int = _DEFAULT_MACHINES,
        *,
        address: str | None = None,
        interleave: bool = False,
        cpu_tokens: int = 1,
    ) -> None:
        machines = require_whole("machines", machines)
        cpu_tokens = require_whole("cpu_tokens", cpu_tokens)
        if cpu_tokens > 1 and not interleave:
            raise BadInput(f"cpu_tokens={cpu_tokens}: jobs only take turns with interleave=True")
        self._cluster = _cluster(machines, address, cpu_tokens if interleave else 0)
        self._is_closed = False
        self._threads = ThreadPoolExecutor(thread_name_prefix="motet-job")
        self._jobs: WeakSet[TrainingJob] = WeakSet()

    @property
    def machines(self) -> int:
        """How many machines a job may use."""
        return self._cluster.machine_count

    def __repr__(self) -> str:
        ended = ", closed" if self._is_closed else ""
        return f"<{type(self).__name__}: {count_text(self.machines, 'machine')}{ended}>"

    @python_arguments
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
        target: ColumnName | None = None,
        drop: NamedColumns = None,
        na: str | Iterable[str] | None = None,
        format: str | None = None,
        exclude: PathArgument | None = None,
        columns: RatingNames = None,
        stop_words: PathArgument | None = None,
        labels: PathArgument | None = None,
        test_labels: PathArgument | None = None,
        consistency: ConsistencyName = "bsp",
        staleness: int = 0,
        checkpoint_every: int = 10,
        lost_after: float = DEFAULT_LOST_AFTER_S,
        spill: float | str | None = None,
        spill_dir: PathArgument | None = None,
        spill_to: str = DISK,
        spill_secret: PathArgument | None = None,
        checkpoints: PathArgument | None = None,
        resume: bool = False,
        overwrite: bool = False,
        callbacks: Iterable[Callback] | Callback = (),
        **parameters: Any,
    ) -> TrainedModel:
        """Train a model and wait for it.

        `data`, `test`: a path, the name of a built-in data set, arrays (`X` or `(X, y)`), SciPy
        sparse matrices, DataFrames, or Motet data sets. `target`, `drop`: of a table in a file or a
        DataFrame, the column to predict and columns to leave out, by name or index. `na`: texts for
        a missing value; `format`, `exclude`, `labels`, `test_labels`, `stop_words`: as with
        `motet train`. `columns`: of ratings, if not found by name: {"user": "buyer", "item": "id"}.

        `workers`, `servers`: numbers of machines in that role; by default every machine has both.
        `epochs`: by default the application's. `seed`: by default the application's
        `random_state`, else 0. `until`: stop early, "loss=X" or "improvement=Y"; the
        application's `tol` ends training, too, and where it is not reached, scikit-learn's
        ConvergenceWarning says so. `callbacks`: called with the `EpochReport` of every epoch, on
        the thread that called `train` (`submit`: on a thread of the job).

        `lost_after`: seconds without any answer after which an executor counts as lost. `spill`:
        share of each worker's input that is kept on disk, in `spill_dir`; "auto" or "model".
        `spill_to`: machines that lend memory for that (`motet memory lend`), "host:port,host:port",
        or "remote": this user's on this machine; `spill_secret`: the file with their secret.
        `checkpoints`: folder to keep checkpoints in, from which `resume` continues; one with an
        earlier run is refused unless `resume` or `overwrite`. `parameters`: of the application, if
        it is no object. Raises BadInput, JobFailed.

        >>> cluster.train("mlr", "flowers.csv", target="species", epochs=50).losses
        """
        self._require_open()
        arguments = TrainArguments(
            app,
            data,
            workers=workers,
            servers=servers,
            epochs=epochs,
            test=test,
            seed=seed,
            until=until,
            target=target,
            drop=drop,
            na=na,
            format=format,
            exclude=exclude,
            columns=columns,
            stop_words=stop_words,
            labels=labels,
            test_labels=test_labels,
            consistency=consistency,
            staleness=staleness,
            checkpoint_every=checkpoint_every,
            lost_after=lost_after,
            spill=spill,
            spill_dir=spill_dir,
            spill_to=spill_to,
            spill_secret=spill_secret,
            checkpoints=checkpoints,
            resume=resume,
            overwrite=overwrite,
            callbacks=callbacks,
            parameters=parameters,
        )
        return self._trained(arguments.checked(self.machines))

    @python_arguments
    def submit(self, app: App, data: Any, **options: Any) -> TrainingJob:
        """Begin to train a model beside others; `result()` of the job waits for it.

        `options`: those of `train`. Raises BadInput for options that cannot work; errors of the
        data and of the training are raised by `result()`.

        >>> job = cluster.submit("nmf", "u.data", rank=16)
        >>> job.result(timeout=60).model
        """
        self._require_open()
        training = TrainArguments.of(app, data, options).checked(self.machines)
        job = TrainingJob(training.title)
        self._jobs.add(job)
        job.begin(self._threads, lambda job: python_arguments(self._trained)(training, job))
        return job

    def close(self) -> None:
        """Wait for all jobs, then end the cluster's processes."""
        self._threads.shutdown()
        self._is_closed = True
        self._cluster.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        if exc_info[0] is None:
            self.close()
            return
        self._is_closed = True
        for job in list(self._jobs):
            job.cancel()
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._cluster.close()

    def _require_open(self) -> None:
        if self._is_closed:
            raise BadInput("the cluster is closed; make another one")

    @one_blas_thread()
    def _trained(
        self, training: CheckedTraining, handle: TrainingJob | None = None
    ) -> TrainedModel:
        made = training.app
        self._preload(made)
        dataset, held_out = training.datasets()
        rows = made.prepared(dataset, training.options.seed)
        rehearse_held_out_metrics(made, held_out, rows, training.options.seed)
        run = _with_time_so_far(made, rows, training.options)
        source = dataset.source
        del dataset  # `rows` hold the training data; both would take twice the memory.
        job = Job(made, rows, run, self._cluster)
        for observer in training.observers:
            job.listen(observer)
        if handle is not None:
            handle.attach(job)
        result = job.run()
        warn_unless_converged(made.name, len(result.epochs), result.convergence, training.caller)
        metrics = held_out_metrics(made, held_out)
        document = TrainDocument.of(result, source, run.workers, run.servers, metrics)
        return TrainedModel(made, result, document)

    def _preload(self, app: Estimator) -> None:
        path = f"{type(app).__module__}:{type(app).__name__}"
        if isinstance(self._cluster, LocalCluster) and path in APPLICATIONS.values():
            self._cluster.preload(path)


def _cluster(machines: int, address: str | None, tokens: int) -> LocalCluster | RayCluster:
    """`tokens`: how many jobs of a machine compute at a time; 0: they do not take turns."""
    if address is None:
        return LocalCluster(machines, interleaves=tokens > 0, cpu_tokens=max(tokens, 1))
    if tokens:
        raise BadInput("interleave=True: only on this machine so far; leave out address")
    if not isinstance(address, str):
        raise BadInput(f"address={address!r:.60}: give HOST:PORT of a running Ray cluster")
    require_ray("address")
    require_listener(address)  # Ray itself would try for many minutes.
    from motet.runtime.backends.ray.cluster import RayCluster

    return RayCluster.join(address, machines=machines)


def _with_time_so_far(app: Estimator, rows: Rows, run: TrainOptions) -> TrainOptions:
    """The options with the seconds of the run that is resumed. Raises BadInput."""
    if not run.resume or run.checkpoint_dir is None:
        return run
    job = identity_of(plan_job(app, rows, run), rows, run.seed)
    found = CheckpointFolder(run.checkpoint_dir, job).to_resume(run.epochs)
    return run if found is None else replace(run, spent_s=found.spent_s)


def _signature_of_train() -> inspect.Signature:
    """That of `Cluster.train` with the arguments that choose the cluster, for `help`."""
    of_cluster = inspect.signature(Cluster.train).parameters
    own = inspect.signature(train)
    first, *options = [each for each in own.parameters.values() if each.name != "options"]
    named = {each.name for each in options} | {first.name, "self"}
    more = [each for name, each in of_cluster.items() if name not in named]
    return own.replace(parameters=[first, *options, *more])


train.__signature__ = _signature_of_train()  # type: ignore[attr-defined]
