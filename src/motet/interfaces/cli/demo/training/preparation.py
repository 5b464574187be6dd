"""Reads the data of a job of the demo and prepares its application."""

from __future__ import annotations

from dataclasses import dataclass

from motet.apps import load_application
from motet.apps.estimator import Estimator
from motet.datasets import Dataset, open_dataset
from motet.interfaces.cli.demo.training.jobs import MACHINES, DemoJob
from motet.interfaces.training_settings.settings import read_training_settings
from motet.runtime.core.options import TrainOptions
from motet.runtime.core.rows import Rows


@dataclass(frozen=True)
class PreparedJob:
    """A job with its data in memory."""

    job: DemoJob
    app: Estimator
    dataset: Dataset
    test: Dataset | None
    rows: Rows
    options: TrainOptions


def prepare_demo_job(job: DemoJob) -> PreparedJob:
    """Raises MotetError."""
    options = TrainOptions(
        machines=MACHINES, workers=job.workers, servers=job.servers, epochs=job.epochs
    )
    settings = read_training_settings(load_application(job.app), job.settings)
    dataset = open_dataset(job.data)
    test = None if job.test is None else open_dataset(job.test)
    rows = settings.app.prepare(dataset, options.seed)
    return PreparedJob(job, settings.app, dataset, test, rows, options)
