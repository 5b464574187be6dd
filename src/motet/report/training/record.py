"""`run.json`: everything needed to repeat a training run, and its results."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal

from motet.datasets.facts import DatasetFacts
from motet.report.training.document import TrainDocument
from motet.runtime.controller.job_plan import JobPlan
from motet.runtime.core.options import TrainOptions

PACKAGES = ("motet", "ray", "numpy", "scipy", "numba", "scikit-learn")


RunState = Literal["finished", "interrupted", "failed"]


@dataclass(frozen=True)
class RunRecord:
    """Inputs and environment of a run. `started_at`: UTC, ISO 8601.

    `state`: "finished", "interrupted" or "failed". `instances`, `mini_batches`: of one epoch.
    `model_blocks`: number of blocks of the model.
    """

    state: RunState
    command: Sequence[str]
    started_at: str
    parameters: Mapping[str, Any]
    options: Mapping[str, Any]
    seed: int
    instances: int
    mini_batches: int
    model_blocks: int
    dataset: Mapping[str, Any]
    versions: Mapping[str, str]
    platform: Mapping[str, Any]

    @classmethod
    def of(
        cls,
        state: RunState,
        command: Sequence[str],
        started_at: datetime,
        plan: JobPlan,
        options: TrainOptions,
        data: DatasetFacts,
    ) -> RunRecord:
        """The record of a run of a job."""
        app, schedule = plan.app, plan.schedule
        return cls(
            state=state,
            command=list(command),
            started_at=started_at.isoformat(timespec="seconds"),
            parameters=app.get_params(),
            options={k: v for k, v in vars(options).items() if k != "spent_s"},
            seed=options.seed,
            instances=schedule.instance_count,
            mini_batches=schedule.batch_count,
            model_blocks=plan.table.block_count,
            dataset={
                "source": data.source,
                "kind": data.kind,
                "counts": data.counts,
                "sha256": data.sha256,
                "notes": list(data.notes),
            },
            versions=installed_versions(),
            platform=_platform(),
        )

    def joined_to(self, document: TrainDocument) -> dict[str, Any]:
        """The content of `run.json`: the fields of the document, then these.

        Only a finished run has a model, and only of its convergence anything is known.
        """
        fields = document.as_dict()
        if self.state != "finished":
            del fields["model_sha256"], fields["convergence"]
        return {**fields, **vars(self)}


def installed_versions() -> dict[str, str]:
    """The versions of Python and of the packages that affect the numbers of a run."""
    versions = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions


def _platform() -> dict[str, Any]:
    return {"system": platform.platform(), "machine": platform.machine(), "cpus": os.cpu_count()}
