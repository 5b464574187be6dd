"""What is laid out before a cluster is there, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from motet.domain.errors import BadInput
from motet.runtime.controller.job_plan import JobPlan, plan_job
from motet.runtime.core.consistency import Async
from motet.runtime.core.options import TrainOptions
from motet.runtime.elastic.role_placement import RolePlacement
from toy_app import ToyRegression


class NeedsAllWorkers(ToyRegression):
    needs_bsp = True


class WholeBatch(ToyRegression):
    """Like Lasso: no `batch_size` parameter."""

    def __init__(self, features: int = 40) -> None:
        super().__init__(features, batch_size=0)


def plan(app: ToyRegression | None = None, **options: Any) -> JobPlan:
    app = app or ToyRegression()
    fields = {"machines": 4, "workers": 3, "servers": 2, "epochs": 1, **options}
    return plan_job(app, app.prepare(None, seed=1), TrainOptions(**fields))


def test_workers_come_first_and_servers_last() -> None:
    made = plan()
    assert made.roles == RolePlacement((0, 1, 2), (2, 3))
    assert made.sync.workers == (0, 1, 2)
    layout = made.first_layout
    assert layout.executors == [0, 1, 2, 3]
    assert {int(owner) for owner in layout.model.owners} == {2, 3}
    assert {int(owner) for owner in layout.data.owners} == {0, 1, 2}


def test_the_batch_size_is_over_all_workers_unless_it_is_per_worker() -> None:
    assert plan(ToyRegression(batch_size=20)).schedule.batch_count == 11
    assert plan(ToyRegression(batch_size=20), worker_batch_size=20).schedule.batch_count == 4


@pytest.mark.parametrize(("stragglers", "helps"), [("help", True), ("ignore", False)])
def test_workers_help_each_other_only_when_asked_to(stragglers: str, helps: bool) -> None:
    assert plan(stragglers=stragglers).helps is helps


@pytest.mark.parametrize(
    ("app", "options", "message"),
    [
        (
            NeedsAllWorkers(),
            {"consistency": Async()},
            "consistency=async: toy needs the sum over all workers; use consistency=bsp",
        ),
        (
            WholeBatch(),
            {"worker_batch_size": 5},
            "worker_batch_size=5: toy takes the whole data set as one mini-batch",
        ),
        (
            ToyRegression(batch_size=2),
            {"machines": 17, "workers": 17},
            "workers=17: 203 instances in mini-batches of 2 make 16 data blocks, one worker each",
        ),
    ],
)
def test_options_that_do_not_fit_together_are_refused(
    app: ToyRegression, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(BadInput, match=message):
        plan(app, **options)
