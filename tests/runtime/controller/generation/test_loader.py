"""How much of the data is on the way at a time, and when the controller may read the model."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from motet.runtime.controller.checkpoints.checkpoint import Checkpoint
from motet.runtime.controller.generation.loader import Loader
from motet.runtime.core.consistency import Async, Bsp, Ssp
from motet.runtime.core.rows import Rows
from motet.runtime.core.schedule import DATA_BLOCKS, Schedule


class WatchedClient:
    """Remembers how the model was read."""

    def __init__(self) -> None:
        self.reads: list[Any] = []

    def multi_get(self) -> Any:
        self.reads.append("as it is")
        return np.zeros(2)

    def batch_plan(self, keys: Any) -> str:
        return f"plan of {keys}"

    def read(self, plan: str, clock: int, out: Any) -> tuple[Any, None]:
        self.reads.append((plan, clock, out))
        return np.ones(2), None

    def multi_put(self, keys: Any, model: Any) -> None:
        self.reads.append("put")


class CountingMessenger:
    """Counts the requests that were sent and not waited for."""

    def __init__(self) -> None:
        self.blocks: list[int] = []
        self.unanswered = self.most_unanswered = 0

    def ask(self, number: int, load: Any) -> Any:
        self.blocks.append(load.block)
        self.unanswered += 1
        self.most_unanswered = max(self.most_unanswered, self.unanswered)
        return SimpleNamespace(wait=self._answered)

    def _answered(self) -> None:
        self.unanswered -= 1


@pytest.mark.parametrize(
    ("consistency", "read", "model"),
    [
        (Bsp(), ("plan of None", 15, None), 1.0),
        (Ssp(2), "as it is", 0.0),
        (Async(), "as it is", 0.0),
    ],
)
def test_the_model_is_read_before_a_mini_batch(consistency: Any, read: Any, model: float) -> None:
    plan: Any = SimpleNamespace(
        sync=SimpleNamespace(consistency=consistency), schedule=SimpleNamespace(batch_count=5)
    )
    client: Any = WatchedClient()
    nobody: Any = None
    assert Loader(0, plan, nobody, client).read_model(15).tolist() == [model, model]
    assert client.reads == [read]


def test_a_small_part_of_the_data_is_on_the_way_at_a_time() -> None:
    count = 10 * DATA_BLOCKS
    rows = Rows(np.arange(count), {"x": np.zeros(count)})
    plan: Any = SimpleNamespace(schedule=Schedule.of(count, 0, DATA_BLOCKS, seed=0))
    data: Any = SimpleNamespace(owners=np.zeros(DATA_BLOCKS, dtype=int))
    messenger: Any = CountingMessenger()
    client: Any = WatchedClient()
    loader = Loader(0, plan, messenger, client)
    loader.distribute(rows, Checkpoint(0, np.zeros(2), rows.select([])), data)
    assert messenger.blocks == list(range(DATA_BLOCKS))
    assert messenger.unanswered == 0
    assert messenger.most_unanswered <= DATA_BLOCKS / 6
    assert client.reads == ["put"]
