"""The workload of Harmony's evaluation: parameter-server jobs with COMP and COMM times.

W.-Y. Lee, dissertation, section 4.4.2: 80 jobs, four applications on two data sets (table 4.1), ten
values of a hyper-parameter each, on 100 machines of 8 cores, 32 GB and 1.1 Gbit/s. The paper gives
the sizes of inputs and models, and figures of the times without numbers.

The times here are measured with Motet's applications on small data (`subtask_profiles.csv`,
`benchmarks/harmony_profiles.py`): COMP per iteration, bytes that are exchanged, epochs until
convergence. They are scaled to the sizes of table 4.1, then calibrated to what the paper does say.
All of this is for a job that is alone on the fewest machines whose memory holds its data:

- COMM, by application: its jobs compute 56 % of the time on average, as the CPUs do under the
  paper's isolated baseline;
- iterations: a job takes two hours, times its epochs relative to the mean of its application. The
  paper's CPUs are used 93 % over the whole run, so no job can be much longer than the others;
- memory: data take four times their bytes (assumed). The mean least number of machines is then 11,
  and COMP and COMM are in balance on about as many as the paper's groups have (100 / 6.7).

How jobs of an application differ is thus measured, how applications differ is not.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Literal, NamedTuple

import numpy as np

from motet.domain.arrays import Floats
from motet.domain.errors import BadInput
from motet.domain.units import GIGA
from motet.estimate.speed_function import SpeedMode
from motet.sim.generate.arrivals import Arrivals, Regular
from motet.sim.generate.workload import MOST_JOBS, whole_milliseconds
from motet.sim.workload.elastic_work import WorkModels
from motet.sim.workload.subtask_work import SubtaskWork
from motet.sim.workload.workload import Workload

MEAN_LENGTH_S, MEAN_ITERATION_S = 7200.0, 60.0
COMPUTING_SHARE = 0.56
EXPANSION = 4
"""Bytes in memory, of input and model, per byte in files."""
MACHINE_BYTES = 32 * GIGA
MOST_MACHINES_OF_JOB = 10_000
_CHOSEN = 60
_TABLE_4_1 = {
    "nmf": ((45.6, 1.0), (91.2, 5.0)),
    "lda": ((4.3, 2.1), (0.6, 1.1)),
    "mlr": ((78.4, 12.0), (155.0, 24.0)),
    "lasso": ((78.4, 12.0), (155.0, 24.0)),
}
"""Gigabytes of input and model of both data sets, in the order of the profiles."""


class ProfiledJob(NamedTuple):
    """`name`: application, data set and hyper-parameter; `comp_s`: on one machine; `epochs`:
    measured until convergence.
    """

    app: str
    name: str
    comp_s: float
    comm_s: float
    epochs: float
    input_bytes: int
    model_bytes: int
    iterations: int = 0

    @property
    def least_machines(self) -> int:
        """Whose memory holds its data."""
        return -(-(self.input_bytes + self.model_bytes) // MACHINE_BYTES)

    @property
    def alone_s(self) -> float:
        """Of an iteration, alone on as few machines as possible."""
        return self.comp_s / self.least_machines + self.comm_s

    @property
    def computing_share(self) -> float:
        """Part of that time in COMP."""
        return 1 - self.comm_s / self.alone_s


@dataclass(frozen=True)
class SubtaskRecipe:
    """`chosen`: all jobs, or the 60 with the largest (`comp`) or the smallest (`comm`) ratio of
    COMP to COMM. More jobs than there are repeat them; fewer are some of them.
    """

    jobs: int = 80
    arrivals: Arrivals = field(default_factory=lambda: Regular(0.0))
    chosen: Literal["all", "comp", "comm"] = "all"


def generate_subtasks(recipe: SubtaskRecipe, rng: np.random.Generator) -> Workload:
    """The jobs in random order; the first arrives at 0, ids count from 0. Raises BadInput."""
    if not 1 <= recipe.jobs <= MOST_JOBS:
        raise BadInput(f"--jobs {recipe.jobs}: must be within 1 to {MOST_JOBS:,}")
    for_order, for_gaps = rng.spawn(2)
    known = _chosen_jobs(recipe.chosen)
    rounds = -(-recipe.jobs // len(known))
    places = np.concatenate([for_order.permutation(len(known)) for _ in range(rounds)])
    jobs = [known[place] for place in places[: recipe.jobs].tolist()]
    gaps_s = recipe.arrivals.gaps_s(recipe.jobs - 1, for_gaps)
    submit_us = whole_milliseconds("--arrivals", np.concatenate([[0.0], np.cumsum(gaps_s)]))
    work = WorkModels.of(
        [job.iterations for job in jobs],
        int(SpeedMode.SYNC),
        np.zeros(6),
        workers=[job.least_machines for job in jobs],
        max_workers=MOST_MACHINES_OF_JOB,
        subtasks=SubtaskWork.of(
            [job.comp_s for job in jobs],
            [job.comm_s for job in jobs],
            [job.input_bytes for job in jobs],
            [job.model_bytes for job in jobs],
        ),
    )
    ids = [str(number) for number in range(recipe.jobs)]
    return Workload.of(ids, submit_us, 0, 0, models=[job.name for job in jobs], work=work)


def _chosen_jobs(chosen: str) -> Sequence[ProfiledJob]:
    jobs = profiled_jobs()
    if chosen == "all":
        return jobs
    by_ratio = sorted(jobs, key=lambda job: job.comp_s / job.comm_s, reverse=chosen == "comp")
    return by_ratio[:_CHOSEN]


@cache
def profiled_jobs() -> tuple[ProfiledJob, ...]:
    """All 80 jobs, scaled."""
    text = files(__package__).joinpath("subtask_profiles.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    found: list[ProfiledJob] = []
    for app in _TABLE_4_1:
        own = [row for row in rows if row["app"] == app]
        half = len(own) // 2
        for number, (input_gb, model_gb) in enumerate(_TABLE_4_1[app]):
            found += _of_data(own[number * half :][:half], number, input_gb, model_gb)
    return tuple(job for app in _TABLE_4_1 for job in _scaled([j for j in found if j.app == app]))


def _of_data(
    rows: Sequence[dict[str, str]], number: int, input_gb: float, model_gb: float
) -> list[ProfiledJob]:
    """Jobs of one data set: COMP grows with the input, COMM and the model with the model, whose
    size in table 4.1 is that of the middle value of the hyper-parameter.
    """
    sizes = _column(rows, "pushed_bytes")
    middle = len(rows) // 2
    larger = input_gb * GIGA / _column(rows, "input_bytes")[middle]
    comp_s = _column(rows, "comp_s") * larger
    exchanged = _column(rows, "pulled_bytes") + sizes
    comm = exchanged / sizes[middle] * model_gb
    return [
        ProfiledJob(
            row["app"],
            f"{row['app']}-{number + 1} {row['parameter']}={row['value']}",
            float(comp_s[place]),
            float(comm[place]),
            int(row["iterations"]) / _batches(row),
            round(EXPANSION * input_gb * GIGA),
            round(EXPANSION * model_gb * float(sizes[place] / sizes[middle]) * GIGA),
        )
        for place, row in enumerate(rows)
    ]


def _batches(row: dict[str, str]) -> float:
    """Iterations per epoch, as far as they differ within an application."""
    return float(row["value"]) if row["parameter"] == "batches" else 1.0


def _scaled(jobs: Sequence[ProfiledJob]) -> list[ProfiledJob]:
    """The jobs of one application with the mean share of COMP, iteration time and length."""
    low, high = 0.0, 1e12
    for _ in range(200):
        middle = (low + high) / 2
        if np.mean([_with_comm(job, middle).computing_share for job in jobs]) > COMPUTING_SHARE:
            low = middle
        else:
            high = middle
    balanced = [_with_comm(job, high) for job in jobs]
    longer = MEAN_ITERATION_S / float(np.mean([job.alone_s for job in balanced]))
    epochs = float(np.mean([job.epochs for job in jobs]))
    found = []
    for job in balanced:
        comp_s, comm_s = _rounded(job.comp_s * longer), _rounded(job.comm_s * longer)
        timed = job._replace(comp_s=comp_s, comm_s=comm_s)
        iterations = round(MEAN_LENGTH_S * job.epochs / epochs / timed.alone_s)
        found.append(timed._replace(iterations=max(iterations, 1)))
    return found


def _with_comm(job: ProfiledJob, factor: float) -> ProfiledJob:
    return job._replace(comm_s=job.comm_s * factor)


def _column(rows: Sequence[dict[str, str]], name: str) -> Floats:
    return np.array([float(row[name]) for row in rows])


def _rounded(value: float) -> float:
    """To six significant digits."""
    return float(f"{value:.6g}")


SUBTASK_RECIPES = {
    "harmony-80": SubtaskRecipe(),
    "harmony-60-comp": SubtaskRecipe(_CHOSEN, chosen="comp"),
    "harmony-60-comm": SubtaskRecipe(_CHOSEN, chosen="comm"),
}
