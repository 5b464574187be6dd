"""The arguments of `motet.train` and `Cluster.train`: checked before any data are read."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Self, TypeAlias, cast, get_args

from motet.apps import load_application
from motet.apps.estimator import Estimator, seed_of
from motet.apps.user_warnings.call_site import CallSite
from motet.datasets import Dataset
from motet.domain.errors import BadInput, UnknownName, nearest_name
from motet.interfaces.cli.train.cluster_shape import ClusterShape
from motet.interfaces.training_data import (
    ColumnName,
    DataArguments,
    NamedColumns,
    PathArgument,
    RatingNames,
)
from motet.interfaces.training_settings.parameters import require_whole
from motet.interfaces.training_settings.spill_lenders import DISK, spill_lenders
from motet.runtime.core.consistency import Consistency, ConsistencyName, consistency_of
from motet.runtime.core.options import DEFAULT_LOST_AFTER_S, SpillOptions, StopRule, TrainOptions
from motet.runtime.core.reporting.observers import TrainObserver
from motet.runtime.core.reporting.reports import EpochReport

App: TypeAlias = str | os.PathLike[str] | type[Estimator] | Estimator
"""A name ("mlr"), a file ("./mine.py"), a class, or an object with its parameters."""
Callback: TypeAlias = Callable[[EpochReport], object] | TrainObserver
"""Called after each epoch; `EpochReport.epoch` counts from 1."""


@dataclass(frozen=True, eq=False)
class CheckedTraining:
    """What `Cluster.train` is to do; `app` belongs to this training alone.

    `caller`: the line that asked for it.
    """

    app: Estimator
    options: TrainOptions
    data: Any
    test: Any
    reading: DataArguments
    test_labels: PathArgument | None
    observers: Sequence[TrainObserver]
    caller: CallSite

    @property
    def title(self) -> str:
        """The application and its data: `mlr on digits`."""
        if isinstance(self.data, str | os.PathLike):
            return f"{self.app.name} on {os.fspath(self.data)}"
        return f"{self.app.name} on {self.data.source if isinstance(self.data, Dataset) else 'X'}"

    def datasets(self) -> tuple[Dataset, Dataset | None]:
        """Training data, and held-out data with the same numbering. Raises BadInput."""
        kind = self.app.dataset_kind
        dataset = self.reading.dataset(kind, self.data, "train")
        if self.test is None:
            return dataset, None
        of_test = replace(self.reading, exclude=None, labels=self.test_labels)
        held_out = of_test.dataset(kind, self.test, "test")
        if not isinstance(self.test, str | os.PathLike):
            of_test.check_columns(held_out, dataset)
        return dataset, held_out.reindexed_like(dataset)


@dataclass(frozen=True, eq=False)
class TrainArguments:
    """The arguments of `Cluster.train` as given; see there. `parameters`: of the application."""

    app: App
    data: Any
    workers: int | None = None
    servers: int | None = None
    epochs: int | None = None
    test: Any = None
    seed: int | None = None
    until: str | None = None
    target: ColumnName | None = None
    drop: NamedColumns = None
    na: str | Iterable[str] | None = None
    format: str | None = None
    exclude: PathArgument | None = None
    columns: RatingNames = None
    stop_words: PathArgument | None = None
    labels: PathArgument | None = None
    test_labels: PathArgument | None = None
    consistency: str = "bsp"
    staleness: int = 0
    checkpoint_every: int = 10
    lost_after: float = DEFAULT_LOST_AFTER_S
    spill: float | str | None = None
    spill_dir: PathArgument | None = None
    spill_to: str = DISK
    spill_secret: PathArgument | None = None
    checkpoints: PathArgument | None = None
    resume: bool = False
    overwrite: bool = False
    callbacks: Iterable[Callback] | Callback = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, app: App, data: Any, options: Mapping[str, Any]) -> Self:
        """From keyword arguments: those that are no option of training are parameters."""
        names = {each.name for each in fields(cls)} - {"app", "data", "parameters"}
        own = {name: value for name, value in options.items() if name in names}
        parameters = {name: value for name, value in options.items() if name not in names}
        return cls(app, data, **own, parameters=parameters)

    def checked(self, machines: int) -> CheckedTraining:
        """The training on a cluster of so many machines. Raises BadInput, UnknownName."""
        made = made_application(self.app, dict(self.parameters))
        if self.test is not None:
            made.require_testable("test")
        options = self._options(made, machines)
        made.set_run(options.epochs, options.seed)
        reading = DataArguments(
            self.format,
            self.target,
            self.drop,
            self.na,
            self.exclude,
            self.labels,
            self.columns,
            self.stop_words,
        )
        observers = observers_of(self.callbacks)
        return CheckedTraining(
            made,
            options,
            self.data,
            self.test,
            reading,
            self.test_labels,
            observers,
            CallSite.of_caller(),
        )

    def _options(self, app: Estimator, machines: int) -> TrainOptions:
        checkpoint_every = require_whole("checkpoint_every", self.checkpoint_every)
        shape = shape_of(machines, self.workers, self.servers)
        return TrainOptions(
            machines=shape.machines,
            workers=shape.workers,
            servers=shape.servers,
            epochs=epochs_of(app, self.epochs),
            seed=seed_of(app.random_state or 0) if self.seed is None else _seed(self.seed),
            consistency=consistency_named(self.consistency, self.staleness),
            until=_stop_rule(self.until),
            checkpoint_every=checkpoint_every,
            lost_after_s=_seconds("lost_after", self.lost_after),
            spill=self._spill(),
            checkpoint_dir=checkpoint_folder(self.checkpoints, self.resume, self.overwrite),
            resume=self.resume,
            tol=app.tol,
        )

    def _spill(self) -> SpillOptions | None:
        share, folder, secret = self.spill, self.spill_dir, self.spill_secret
        if share is None:
            if folder is not None:
                raise BadInput("spill_dir is for data on disk; give spill, too")
            if self.spill_to != DISK or secret is not None:
                raise BadInput("spill_to says where spilled data go; give spill, too")
            return None
        if isinstance(share, bool) or not isinstance(share, Real | str):
            raise BadInput(f"spill={share!r:.40}: give a number from 0 to 1, 'auto' or 'model'")
        lenders = spill_lenders(self.spill_to, None if secret is None else Path(secret))
        return SpillOptions.parse(str(share), None if folder is None else Path(folder), lenders)


class _Epochs(TrainObserver):
    """Calls a function after each epoch."""

    def __init__(self, callback: Callable[[EpochReport], object]) -> None:
        self._callback = callback

    def epoch_done(self, report: EpochReport) -> None:
        self._callback(report)


def made_application(app: App, parameters: dict[str, Any]) -> Estimator:
    """An application of its own for the job. Raises BadInput, UnknownName."""
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
    known = made().get_params()
    unknown = next((name for name in parameters if name not in known), None)
    if unknown is not None:
        arguments = [each.name for each in fields(TrainArguments) if each.name != "parameters"]
        near = nearest_name(unknown, [*known, *arguments])
        raise BadInput(
            f"{unknown}={parameters[unknown]!r:.40}: neither an argument of train nor a parameter "
            f"of {made.__name__}"
            + (
                f"; did you mean {near!r}?"
                if near in arguments
                else UnknownName("parameter", unknown, known).hint
            )
        )
    return made(**parameters)


def consistency_named(name: str, staleness: int) -> Consistency:
    """Raises BadInput, UnknownName."""
    if not isinstance(staleness, int) or isinstance(staleness, bool) or staleness < 0:
        raise BadInput(f"staleness={staleness!r:.40}: must be a whole number of at least 0")
    if name not in get_args(ConsistencyName):
        raise UnknownName("consistency", str(name), get_args(ConsistencyName))
    return consistency_of(cast(ConsistencyName, name), staleness)


def observers_of(callbacks: Iterable[Callback] | Callback) -> list[TrainObserver]:
    """One callback or several as observers. Raises BadInput."""
    if callable(callbacks) or isinstance(callbacks, TrainObserver):
        callbacks = [callbacks]
    if not isinstance(callbacks, Iterable):
        raise BadInput(f"callbacks: {callbacks!r:.40} is no function of an EpochReport")
    listed = list(callbacks)
    wrong = [each for each in listed if not (callable(each) or isinstance(each, TrainObserver))]
    if wrong:
        raise BadInput(f"callbacks: {wrong[0]!r:.40} is no function of an EpochReport")
    return [each if isinstance(each, TrainObserver) else _Epochs(each) for each in listed]


def epochs_of(app: Estimator, epochs: int | None) -> int:
    """The number of epochs; None: the application's. Raises BadInput."""
    if epochs is None:
        epochs = getattr(app, "epochs", None)
        epochs = app.default_epochs if epochs is None else epochs
    return require_whole("epochs", epochs)


def checkpoint_folder(
    checkpoints: str | os.PathLike[str] | None, resume: bool, overwrite: bool
) -> Path | None:
    """The folder for checkpoints. Raises BadInput if an earlier run would be lost or is missing."""
    for name, value in (("resume", resume), ("overwrite", overwrite)):
        if not isinstance(value, bool):
            raise BadInput(f"{name}={value!r:.40}: give True or False")
    if resume and overwrite:
        raise BadInput("resume=True continues a run and overwrite=True removes it; give one")
    if checkpoints is None:
        if resume or overwrite:
            which = "resume=True" if resume else "overwrite=True"
            raise BadInput(f"{which} needs checkpoints=FOLDER, the folder of the earlier run")
        return None
    if not isinstance(checkpoints, str | os.PathLike) or not os.fspath(checkpoints):
        raise BadInput(f"checkpoints={checkpoints!r:.40}: give the path of a folder")
    folder = Path(checkpoints)
    kept = sorted(path.name for path in folder.glob("epoch-*"))
    if kept and not (resume or overwrite):
        raise BadInput(
            f"checkpoints={str(folder)!r}: holds a run already ({kept[-1]}); give resume=True to "
            "continue it, another folder, or overwrite=True to replace it"
        )
    if resume and not kept:
        _require_begun(folder)
    return folder


def shape_of(machines: int | None, workers: int | None, servers: int | None) -> ClusterShape:
    """As with `motet train`. Raises BadInput."""
    given = {"machines": machines, "workers": workers, "servers": servers}
    counts = (None if it is None else require_whole(name, it) for name, it in given.items())
    return ClusterShape.of(*counts)


def _seed(seed: object) -> int:
    if isinstance(seed, bool) or not isinstance(seed, Integral) or seed < 0:
        raise BadInput(f"seed={seed!r:.40}: must be None or a whole number of at least 0")
    return int(seed)


def _seconds(name: str, seconds: object) -> float:
    if isinstance(seconds, bool) or not isinstance(seconds, Real):
        raise BadInput(f"{name}={seconds!r:.40}: give a number of seconds")
    return float(seconds)


def _stop_rule(until: str | None) -> StopRule | None:
    if until is None:
        return None
    if not isinstance(until, str):
        raise BadInput(f"until={until!r:.40}: give 'loss=NUMBER' or 'improvement=NUMBER'")
    return StopRule.parse(until)


def _require_begun(folder: Path) -> None:
    """Raises BadInput unless the folder exists: a run creates it before its first checkpoint."""
    if not folder.is_dir():
        raise BadInput(
            f"no checkpoint in {folder}; check the folder's name, or leave resume out to train "
            "from the beginning"
        )
    CallSite.of_caller().warn(
        f"no checkpoint in {folder} yet; training from the beginning", UserWarning
    )
