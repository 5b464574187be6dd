from __future__ import annotations

from motet.aggregation.wire.pool_views import PoolJobView, PoolView
from motet.live.master.facts import ModelSeen
from motet.live.shared_pool.model_sizes import ModelSizes


def job(name: str, model_bytes: int, largest_bytes: int) -> PoolJobView:
    speeds = 100, None, None, None, 0
    return PoolJobView(
        *(0, name, "profiling", (0,), 1, 2, (0,), 5), *speeds, 0.1, model_bytes, largest_bytes
    )


def view(*jobs: PoolJobView) -> PoolView:
    return PoolView((), jobs, (), 4, 0.1)


def test_the_sizes_of_a_model_are_told_once() -> None:
    told: list[ModelSeen] = []
    sizes, jobs = ModelSizes(told.append), {"run-3.1": 3, "run-4.1": 4}
    sizes.seen(view(job("run-3.1", 400, 100)), jobs)
    sizes.seen(view(job("run-3.1", 400, 100), job("run-4.1/critic", 10, 10)), jobs)
    assert told == [ModelSeen(3, 400, 100), ModelSeen(4, 10, 10)]


def test_tensors_that_are_of_no_model_say_nothing() -> None:
    told: list[ModelSeen] = []
    ModelSizes(told.append).seen(view(job("run-3.1/group", 0, 0), job("x", 9, 9)), {"run-3.1": 3})
    assert told == []
