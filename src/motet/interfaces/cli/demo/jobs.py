"""The four jobs of `motet demo`, each on real data that every installation has."""

from __future__ import annotations

from dataclasses import dataclass

from motet.apps import load_application
from motet.apps.estimator import Estimator
from motet.datasets import Dataset, open_dataset
from motet.interfaces.cli.apps.settings import read_training_settings
from motet.runtime.core.options import TrainOptions
from motet.runtime.core.rows import Rows

MACHINES = 4


@dataclass(frozen=True)
class DemoJob:
    """Application, data and roles. `noun`: name of an instance; `test`: held-out data."""

    app: str
    data: str
    title: str
    noun: str
    settings: tuple[str, ...]
    epochs: int
    workers: int
    servers: int
    test: str | None = None

    @property
    def options(self) -> TrainOptions:
        """The options of the job on the cluster of the demo."""
        return TrainOptions(
            machines=MACHINES, workers=self.workers, servers=self.servers, epochs=self.epochs
        )


@dataclass(frozen=True)
class PreparedJob:
    """A job with its data in memory."""

    job: DemoJob
    app: Estimator
    dataset: Dataset
    test: Dataset | None
    rows: Rows


DEMO_JOBS = (
    DemoJob(
        app="mlr",
        data="digits:part=train",
        test="digits:part=test",
        title="handwritten digits",
        noun="images",
        settings=("l2=0.001",),
        epochs=30,
        workers=2,
        servers=2,
    ),
    DemoJob(
        app="nmf",
        data="digits-ratings",
        title="the parts digits are made of",
        noun="images",
        settings=("rank=16", "l2=0", "learning_rate=0.1", "decay=1", "batch_size=64"),
        epochs=80,
        workers=3,
        servers=1,
    ),
    DemoJob(
        app="lasso",
        data="diabetes",
        title="what drives diabetes",
        noun="patients",
        settings=("l1_ratio_of_max=0.05", "standardize=true", "solver=fista"),
        epochs=60,
        workers=2,
        servers=1,
    ),
    DemoJob(
        app="lda",
        data="pydoc",
        title="topics of Python's manual",
        noun="texts",
        settings=("topics=20",),
        epochs=60,
        workers=3,
        servers=2,
    ),
)


def prepare_demo_job(job: DemoJob) -> PreparedJob:
    """Read the data of a job and prepare its application."""
    settings = read_training_settings(load_application(job.app), job.settings)
    dataset = open_dataset(job.data)
    test = None if job.test is None else open_dataset(job.test)
    rows = settings.app.prepare(dataset, job.options.seed)
    return PreparedJob(job, settings.app, dataset, test, rows)
