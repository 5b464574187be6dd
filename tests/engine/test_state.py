"""What the engine knows keeps the columns of policy and driver apart."""

from __future__ import annotations

import pytest

from motet.domain.cluster import ClusterSpec
from motet.domain.errors import BadInput
from motet.domain.snapshot import Queues
from motet.engine.state import ClusterState


@pytest.mark.parametrize("name", ["gpus", "work_us"])
def test_a_policy_cannot_take_a_column_that_is_there(name: str) -> None:
    with pytest.raises(BadInput, match=f"memory_columns names '{name}', which is a column already"):
        ClusterState(ClusterSpec.uniform(1, 1), {"seen": 0, name: 0}, {"work_us": 0}, Queues())
