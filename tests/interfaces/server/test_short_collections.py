"""How many objects the collections of a process visit whose state grows."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

GROWING = """
import gc, json, sys, weakref
from motet.interfaces.server.short_collections import keep_collections_short

class Node:
    pass

visited = []
if sys.argv[1] == "short":
    keep_collections_short()
gc.callbacks.insert(0, lambda phase, found: phase == "start" and found["generation"] == 2
                    and visited.append(len(gc.get_objects())))
state = [[number] for number in range(1_000_000)]
node = Node()
node.itself = node
cycle = weakref.ref(node)
del node
state += [[number] for number in range(1_000_000)]
json.dump({"most": max(visited), "times": len(visited), "freed": cycle() is None}, sys.stdout)
"""


def _visited(how: str) -> dict[str, int]:
    done = subprocess.run(
        [sys.executable, "-c", GROWING, how], stdout=subprocess.PIPE, text=True, check=True
    )
    found: dict[str, int] = json.loads(done.stdout)
    return found


@pytest.mark.soak
@pytest.mark.skipif(sys.version_info >= (3, 14), reason="3.14 has no full collections by itself")
def test_no_collection_visits_a_state_that_grows() -> None:
    short = _visited("short")
    assert short["most"] <= 60_000 < 10 * 60_000 < _visited("as ever")["most"]
    assert short["times"] >= 10


def test_cycles_are_collected() -> None:
    assert _visited("short")["freed"]
