"""What tests of shared memory have in common: collections of garbage that are short."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module", autouse=True)
def only_own_objects_are_collected() -> Iterator[None]:
    """`gc.collect()` in a test passes over what the tests before it left: most of this process."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()
    gc.collect()
    gc.freeze()
