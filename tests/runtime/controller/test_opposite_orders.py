"""Two jobs whose workers get the network tokens of two machines in opposite orders."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from in_process_cluster import InProcessCluster
from local_toy import trained_locally
from motet.runtime.client.remote_model import RemoteModel
from motet.runtime.controller.job import Job
from motet.runtime.core.application import Step
from motet.runtime.core.options import TrainOptions
from motet.runtime.core.reporting.reports import TrainResult
from motet.runtime.core.subtask import SubtaskKind, Transfer
from motet.runtime.worker.resources import WorkerResources
from toy_app import ToyRegression

EPOCHS, BATCH_SIZE, MACHINES = 2, 50, 2
DEADLOCK_S = 100.0


def machine() -> int:
    """The number of the machine whose worker this thread is."""
    return int(threading.current_thread().name.removeprefix("executor-"))


class Network:
    """One network token per machine. On machine n, job n is ahead: the other one computes its first
    mini-batch until job n wants to pull the second one."""

    def __init__(self) -> None:
        self.tokens = [threading.Lock() for _ in range(MACHINES)]
        self.is_ahead = [threading.Event() for _ in range(MACHINES)]


class NetworkGate:
    """Admits the subtasks of one job."""

    is_free = False

    def __init__(self, network: Network, job: int) -> None:
        self._network, self._job = network, job
        self._pulls: Counter[int] = Counter()

    def begin(self) -> None:
        """Does nothing: the order is that of the requests."""

    @contextmanager
    def enter(self, kind: SubtaskKind) -> Iterator[bool]:
        here = machine()
        if kind is SubtaskKind.COMP:
            if here != self._job:
                self._network.is_ahead[here].wait()
            yield False
            return
        with self._network.tokens[here]:
            self._pulls[here] += kind is SubtaskKind.PULL
            if self._pulls[here] == 2:
                self._network.is_ahead[here].set()
            yield False


def test_no_token_is_held_while_a_pull_waits_for_the_pushes_of_other_machines(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    network, results = Network(), dict[int, TrainResult]()
    await_start = RemoteModel.await_start

    def awaited(model: RemoteModel, step: Step) -> Transfer:
        if step.clock == 1:
            network.is_ahead[machine()].set()
        return await_start(model, step)

    monkeypatch.setattr(RemoteModel, "await_start", awaited)

    def run(job: int) -> None:
        app = ToyRegression(batch_size=BATCH_SIZE)
        resources = WorkerResources(gate=NetworkGate(network, job))
        options = TrainOptions(MACHINES, MACHINES, MACHINES, EPOCHS)
        cluster = InProcessCluster(MACHINES, resources=resources)
        results[job] = Job(app, app.prepare(None, seed=1), options, cluster).run()

    jobs = [threading.Thread(target=run, args=(job,), daemon=True) for job in range(2)]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join(DEADLOCK_S)
    expected = trained_locally(EPOCHS, BATCH_SIZE)
    for job in range(2):
        np.testing.assert_allclose(results[job].app.coef_, expected.coef_, rtol=1e-10, atol=1e-13)
