"""Values of blocks on a spill target."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from motet.runtime.spilling.model.spilled_values import SpilledValues
from motet.runtime.spilling.targets.spill_file import SpillFile

DISK = Path("/var/tmp")


@pytest.mark.parametrize("shape", [(3,), (700, 3), (0, 4), (5, 2, 2)])
def test_what_was_saved_last_is_loaded(shape: tuple[int, ...]) -> None:
    place = SpilledValues(SpillFile(DISK))
    for seed in range(2):
        values = np.random.default_rng(seed).random(shape)
        place.save(values)
        found = place.load()
        np.testing.assert_array_equal(found, values)
        assert found.dtype == values.dtype


def test_loaded_values_are_arrays_of_their_own() -> None:
    place = SpilledValues(SpillFile(DISK))
    place.save(np.arange(4))
    place.load()[:] = 7
    assert place.load().tolist() == [0, 1, 2, 3]


def test_blocks_have_places_of_their_own() -> None:
    file = SpillFile(DISK)
    places = [SpilledValues(file) for _ in range(3)]
    for number, place in enumerate(places):
        place.save(np.full(1000, number))
    assert [int(place.load()[-1]) for place in places] == [0, 1, 2]
