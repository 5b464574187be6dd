"""Freed memory between objects that stay goes back to the system."""

from __future__ import annotations

from freed_memory import anonymous_bytes, arrays_between_freed_ones
from motet.transport.unused_memory import return_unused_memory


def test_freed_arrays_between_others_go_back_to_the_system() -> None:
    stay, freed_bytes = arrays_between_freed_ones()
    before = anonymous_bytes()
    return_unused_memory()
    assert before - anonymous_bytes() > freed_bytes / 2
    assert all(each.sum() == len(each) for each in stay)
