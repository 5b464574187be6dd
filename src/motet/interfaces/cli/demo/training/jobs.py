"""The four jobs of `motet demo`, each on real data that every installation has.

This module imports nothing slow: the executors of the jobs are started before the other imports.
"""

from __future__ import annotations

from dataclasses import dataclass

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
        workers=2,
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
