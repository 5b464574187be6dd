"""Idle workers help a late one in executors that are processes of their own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from motet.runtime.backends.local.cluster import LocalCluster
from motet.runtime.controller.job import Job
from motet.runtime.core.options import Stragglers, TrainOptions
from motet.runtime.core.reporting.batch_costs import BatchCost
from motet.runtime.core.reporting.observers import TrainObserver
from motet.runtime.core.reporting.reports import TrainResult
from toy_app import SlowSomewhere

pytestmark = pytest.mark.cluster
EPOCHS, RUNS = 12, 6


class Shares(TrainObserver):
    """How many instances every executor computed."""

    def __init__(self) -> None:
        self.instances: dict[int, int] = {}

    def measured(self, executor: int, costs: Sequence[BatchCost]) -> None:
        more = sum(cost.instances for cost in costs)
        self.instances[executor] = self.instances.get(executor, 0) + more


def train(
    cluster: LocalCluster, folder: Path, stragglers: Stragglers, observer: TrainObserver
) -> TrainResult:
    folder.mkdir()
    app = SlowSomewhere(str(folder))
    options = TrainOptions(machines=3, workers=3, servers=1, epochs=EPOCHS, stragglers=stragglers)
    return Job(app, app.prepare(None, seed=1), options, cluster, observer).run()


@pytest.mark.soak
def test_a_slow_process_computes_less_and_the_model_stays_the_same(
    local_cluster: LocalCluster, tmp_path: Path
) -> None:
    """A machine under load may delay the fast processes as much: then another run shows it."""
    alone = Shares()
    expected = train(local_cluster, tmp_path / "alone", "ignore", alone)
    least = []
    for run in range(RUNS):
        helped = Shares()
        found = train(local_cluster, tmp_path / f"helped-{run}", "help", helped)
        np.testing.assert_allclose(found.app.coef_, expected.app.coef_, rtol=1e-10, atol=1e-13)
        assert found.app.visits_.tolist() == [float(EPOCHS)] * 203
        least.append(min(helped.instances.values()))
        if least[-1] < 0.9 * min(alone.instances.values()):
            return
    pytest.fail(f"the slow process computed {least}, alone {min(alone.instances.values())}")
