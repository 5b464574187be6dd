"""Sections as bytes: every array comes back, and the state columns have pages of their own."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from motet.runtime.core.rows import Ragged, Rows
from motet.runtime.spilling.section_image import PAGE_BYTES, SectionImage


def section(seed: int, count: int) -> Rows:
    """Fixed and ragged columns of several types, each once as state."""
    rng = np.random.default_rng(seed)

    def ragged(kind: type[np.generic]) -> Ragged:
        lengths = rng.integers(0, 5, count)
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        return Ragged(offsets, rng.integers(0, 100, offsets[-1]).astype(kind))

    columns = {
        "x": rng.random((count, 3)),
        "words": ragged(np.int32),
        "label": rng.integers(0, 9, count).astype(np.int8),
        "factors": rng.random((count, 2)).astype(np.float32),
        "topics": ragged(np.uint8),
    }
    return Rows(rng.permutation(count).astype(np.int64), columns)


STATE = ("factors", "topics")


@given(st.integers(0, 2**32 - 1), st.integers(0, 200))
def test_a_section_is_the_same_after_its_image(seed: int, count: int) -> None:
    rows = section(seed, count)
    image = SectionImage.of(rows, STATE)
    buffer = memoryview(bytearray(image.nbytes))
    image.write(rows, buffer)
    found = image.rows(buffer)
    assert found.ids.tolist() == rows.ids.tolist()
    assert set(found.columns) == set(rows.columns)
    for (name, array), (_, expected) in zip(
        sorted(found.arrays()), sorted(rows.arrays()), strict=True
    ):
        assert array.dtype == expected.dtype, name
        np.testing.assert_array_equal(array, expected)


@given(st.integers(0, 2**32 - 1), st.integers(1, 200))
def test_changed_state_changes_only_the_pages_of_the_state(seed: int, count: int) -> None:
    rows = section(seed, count)
    image = SectionImage.of(rows, STATE)
    assert image.nbytes % PAGE_BYTES == image.state_offset % PAGE_BYTES == 0
    buffer = memoryview(bytearray(image.nbytes))
    image.write(rows, buffer)
    before = bytes(buffer[: image.state_offset])
    view = image.rows(buffer)
    view["factors"][:] = -1
    view.ragged("topics").values[:] = 200
    assert bytes(buffer[: image.state_offset]) == before
