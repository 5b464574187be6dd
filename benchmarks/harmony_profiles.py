"""Profiles of 80 jobs of four applications, for the simulated workload of Harmony's evaluation.

    python benchmarks/harmony_profiles.py

Two data sets and ten values of a hyper-parameter per application. Measured for each job: CPU
seconds of COMP per iteration on one core, bytes that a worker pulls and pushes per iteration, bytes
of the input, iterations to convergence (at most 300 epochs). The table is part of the package
(`motet/sim/generate/subtask_profiles.csv`); `motet.sim.generate.harmony` scales it.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from statistics import median
from typing import Any

import motet
from motet.apps.estimator import Estimator
from motet.datasets.opening import open_dataset
from support.side_by_side import comp_sample

TABLE = Path(motet.__file__).parent / "sim" / "generate" / "subtask_profiles.csv"
MOST_EPOCHS, EPOCHS_MEASURED = 300, 3
RANKS = (8, 16, 24, 32, 40, 48, 64, 80, 96, 128)
TOPICS = (10, 20, 30, 40, 50, 60, 80, 100, 150, 200)
BATCHES = (1, 2, 3, 4, 5, 6, 8, 10, 15, 20)
PENALTIES = (0.5, 0.4, 0.3, 0.2, 0.15, 0.1, 0.08, 0.05, 0.03, 0.02)


@dataclass(frozen=True)
class Profile:
    """One job. `comp_s`, `pulled_bytes`, `pushed_bytes`: of one iteration (mini-batch) of one
    worker on one core; `iterations`: until convergence.
    """

    app: str
    data: str
    parameter: str
    value: float
    comp_s: float
    pulled_bytes: int
    pushed_bytes: int
    input_bytes: int
    iterations: int


@dataclass(frozen=True)
class Family:
    """An application with its data; `make(value, rows)`: with a value of its hyper-parameter."""

    app: str
    data: tuple[str, str]
    parameter: str
    values: tuple[float, ...]
    make: Callable[[Any, int], Estimator]


FAMILIES = (
    Family(
        "nmf",
        (
            "synthetic-ratings:users=4000,items=500,density=0.05",
            "synthetic-ratings:users=8000,items=1000,density=0.04",
        ),
        "rank",
        RANKS,
        lambda rank, rows: motet.NMF(rank=rank, batch_size=rows // 4),
    ),
    Family(
        "lda",
        (
            "synthetic-corpus:documents=2000,words=2000,topics=20,length=150",
            "synthetic-corpus:documents=1000,words=1500,topics=20,length=100",
        ),
        "topics",
        TOPICS,
        lambda topics, rows: motet.LDA(topics=topics, batch_size=rows),
    ),
    Family(
        "mlr",
        (
            "synthetic-classification:rows=4000,features=1000,classes=20",
            "synthetic-classification:rows=8000,features=1000,classes=40",
        ),
        "batches",
        BATCHES,
        lambda batches, rows: motet.MLR(solver="saga", batch_size=-(-rows // batches)),
    ),
    Family(
        "lasso",
        (
            "synthetic-regression:rows=4000,features=4000,nonzeros=100",
            "synthetic-regression:rows=6000,features=6000,nonzeros=200",
        ),
        "l1_ratio_of_max",
        PENALTIES,
        lambda ratio, rows: motet.Lasso(l1_ratio_of_max=ratio, solver="fista"),
    ),
)


def profiles() -> Iterator[Profile]:
    """Measured one after the other."""
    with motet.Cluster(1) as cluster:
        for family in FAMILIES:
            for data in family.data:
                dataset: Any = open_dataset(data)
                for value in family.values:
                    yield _profile(cluster, family, data, dataset, value)


def _profile(
    cluster: motet.Cluster, family: Family, data: str, dataset: Any, value: float
) -> Profile:
    app = family.make(value, len(family.make(value, 1).prepare(dataset, 0)))
    rows = app.prepare(dataset, 0)
    app.epochs = MOST_EPOCHS
    found = cluster.train(app, data, workers=1, servers=1)
    losses = found.losses
    batches = max(-(-len(rows) // app.batch_size), 1) if app.batch_size else 1
    sample = comp_sample(family.make(value, len(rows)), dataset)
    comp_s = median(sample() for _ in range(EPOCHS_MEASURED)) / batches
    exchanges = len(losses) * batches
    return Profile(
        family.app,
        data.partition(":")[0],
        family.parameter,
        value,
        float(f"{comp_s:.4g}"),
        round(losses["bytes_pulled"].sum() / exchanges),
        round(losses["bytes_pushed"].sum() / exchanges),
        rows.nbytes,
        exchanges,
    )


def main() -> None:
    """Measure and write the table."""
    found = []
    for profile in profiles():
        print(profile, flush=True)
        found.append(profile)
    with TABLE.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([each.name for each in fields(Profile)])
        writer.writerows(map(astuple, found))
    print(f"written: {TABLE}")


if __name__ == "__main__":
    main()
