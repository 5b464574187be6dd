"""Collections of cyclic garbage that stay short while the state of the server grows.

A full collection visits every object: 0.2 s for 10,000 waiting jobs, in which no other thread runs.
"""

from __future__ import annotations

import gc
from collections.abc import Mapping
from typing import Any

_FULL = 2
_MIDDLE_COLLECTIONS = 5
"""Middle collections between two full ones: about 35,000 new objects, or 20 ms."""


def keep_collections_short() -> None:
    """Visit every object in one full collection at most, from now on.

    What survives a full collection is state, or will be freed by its count of references; cycles
    that become garbage after they have survived one are never freed.
    """
    gc.freeze()
    young, middle, _ = gc.get_threshold()
    gc.set_threshold(young, middle, _MIDDLE_COLLECTIONS)
    if _exempt_survivors not in gc.callbacks:
        gc.callbacks.append(_exempt_survivors)


def _exempt_survivors(phase: str, collection: Mapping[str, Any]) -> None:
    if phase == "stop" and collection["generation"] == _FULL:
        gc.freeze()
