"""What tests of shared memory have in common: collections of garbage that are short."""

from __future__ import annotations

import gc

import pytest


@pytest.fixture(scope="module", autouse=True)
def only_own_objects_are_collected() -> None:
    """`gc.collect()` in a test passes over what the tests before it left: most of this process.

    It stays frozen: to collect it again takes a second of the processor after each file.
    """
    gc.collect()
    gc.freeze()
