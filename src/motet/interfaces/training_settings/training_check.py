"""Checks a training before it is submitted: its application, its parameters and the columns of
its data must exist here."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from motet.apps import APPLICATIONS, load_application
from motet.datasets.opening import check_dataset
from motet.interfaces.training_settings.settings import default_epochs, read_training_settings
from motet.live.jobs.array_file import array_spec, is_array
from motet.live.jobs.job_file import job_spec
from motet.live.jobs.job_spec import JobSpec, TrainingSpec


def checked_training(values: Mapping[str, Any], source: str) -> dict[str, Any]:
    """The values with the number of epochs; those of a command as they are. Raises BadInput.

    Policies that predict the end of a job need the number of its epochs. Of an array, whose jobs
    differ in some values only, the first is checked.
    """
    spec = _first_job(values, source)
    if not isinstance(spec, TrainingSpec):
        return dict(values)
    place = spec.app if spec.app in APPLICATIONS else _in_folder(spec.app, spec.workdir)
    app = load_application(place)
    read_training_settings(app, spec.settings)
    _check_data(app.dataset_kind, spec)
    return {**values, "epochs": values.get("epochs") or default_epochs(app)}


def _first_job(values: Mapping[str, Any], source: str) -> JobSpec:
    return array_spec(values, source).jobs[0][1] if is_array(values) else job_spec(values, source)


def _check_data(kind: str, spec: TrainingSpec) -> None:
    """Check the data that are here; the server tells what is missing in folders that it has.

    Raises BadInput for an unknown name, and for columns that a table lacks.
    """
    for given in filter(None, (spec.data, spec.test)):
        path = Path(spec.workdir) / given
        is_name = Path(given).name == given and not Path(given).suffix
        if is_name or path.exists():
            source = given if is_name and not path.exists() else str(path)
            check_dataset(
                source,
                kind=kind,
                format=spec.format,
                target=spec.target,
                drop=map(str, spec.drop),
                columns=spec.columns.given,
                stop_words=None
                if spec.stop_words is None
                else Path(spec.workdir) / spec.stop_words,
            )


def _in_folder(app: str, folder: str) -> str:
    return str(Path(folder) / app) if app.partition(":")[0].endswith(".py") else app
