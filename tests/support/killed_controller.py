"""A job with a reconfiguration, whose process may be killed at one of its steps."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

from in_process_cluster import InProcessCluster
from motet.domain.reconfiguration import Add, Delete, Move, Plan
from motet.runtime.controller.job import Job
from motet.runtime.controller.reconfiguration.plan_queue import TimedPlan
from motet.runtime.core.options import TrainOptions
from motet.runtime.core.reporting.reports import TrainResult
from motet.runtime.wire.messages import RequestKind
from toy_app import ToyRegression
from unhurried import THREADS_GROWTH, THREADS_PAUSE_S, UntilPlansAreDone

EPOCHS, PLAN_EPOCH = 20, 4
SOURCE, DESTINATION, NEWCOMER = 3, 4, 2
PLAN = Plan.of(
    [
        Move("model", (0, 1, 2, 5), SOURCE, DESTINATION),
        Move("data", (0, 2, 4), 0, 1),
        Add(NEWCOMER, "worker"),
        Delete(SOURCE),
    ]
)


def train(cluster: InProcessCluster, folder: Path | None, *, resume: bool = False) -> TrainResult:
    """With checkpoints in `folder`, and the plan carried out at its epoch; None: neither."""
    app = ToyRegression(batch_size=70)
    options = TrainOptions(
        machines=5,
        workers=2,
        servers=2,
        epochs=EPOCHS,
        checkpoint_every=2,
        checkpoint_dir=folder,
        resume=resume,
    )
    timetable = () if folder is None else (TimedPlan(lambda layout: PLAN, at_epoch=PLAN_EPOCH),)
    patient = UntilPlansAreDone(len(timetable), THREADS_PAUSE_S, THREADS_GROWTH)
    return Job(app, app.prepare(None, seed=1), options, cluster, patient, timetable).run()


def train_until_killed(folder: Path, executor: int, kind: RequestKind, nth: int) -> None:
    """This process dies when an executor is asked something for the n-th time."""
    lock, left = threading.Lock(), [nth]

    def on_request(number: int, asked: int) -> None:
        if (number, asked) != (executor, kind):
            return
        with lock:
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    train(InProcessCluster(5, on_request), folder)
