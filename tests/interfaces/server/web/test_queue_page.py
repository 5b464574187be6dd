"""The page of queues: the parts of the bars, what is lent, and the buttons."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from motet.domain.queues.queue_limits import QueueLimits
from motet.interfaces.server.web.queue_page import queue_page
from motet.live.queues.queue_changes import DefineQueues, SetQueueMode
from scripted_cluster import ScriptedCluster


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ScriptedCluster]:
    """Four slots."""
    found = ScriptedCluster(tmp_path)
    yield found
    found.close()


def test_bars_are_parts_of_the_cluster(cluster: ScriptedCluster) -> None:
    cluster.ask(DefineQueues({"default": QueueLimits(1, borrow=2), "ml": QueueLimits(2)}))
    cluster.submit(3)
    cluster.submit(1)
    document = queue_page(cluster.master.state)
    first, second = document["queues"]
    parts = ("own_part", "borrowed_part", "guarantee_part", "most_part")
    assert [first[name] for name in parts] == [25.0, 50.0, 25.0, 75.0]
    assert [second[name] for name in parts] == [0.0, 0.0, 50.0, None]
    assert [first[name] for name in ("slots", "borrowed", "waiting")] == [3, 2, 1]
    assert (second["idle_guarantee"], document["lent"]) == (2, 1)


def test_buttons_are_those_that_change_the_mode(cluster: ScriptedCluster) -> None:
    verbs = {"open": ["hold", "drain"], "held": ["drain", "resume"], "draining": ["hold", "resume"]}
    for mode in ("held", "draining", "open"):
        cluster.ask(SetQueueMode("default", "ann", mode))
        (queue,) = queue_page(cluster.master.state)["queues"]
        assert (queue["mode"], queue["verbs"]) == (mode, verbs[mode])
