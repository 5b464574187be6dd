"""When the controller may read the model: at its mini-batch in lockstep, else as it is."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from motet.runtime.controller.generation.loader import Loader
from motet.runtime.core.consistency import Async, Bsp, Ssp


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
