from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.domain.errors import BadInput
from motet.remote_memory.core.byte_sizes import size_of, size_text


@pytest.mark.parametrize(
    ("text", "size"),
    [("4G", 4 << 30), ("512m", 512 << 20), ("1.5GiB", 3 << 29), ("4096", 4096), (7, 7)],
)
def test_sizes_are_in_powers_of_1024(text: str | int, size: int) -> None:
    assert size_of(text) == size


@pytest.mark.parametrize("text", ["", "G", "-1G", "0", "4X", "1.0000001K", "4 G G", 0])
def test_other_text_is_refused_with_an_example(text: str | int) -> None:
    with pytest.raises(BadInput, match=r"size|whole number"):
        size_of(text)


@given(st.integers(1, 1023), st.sampled_from([0, 10, 20, 30]))
def test_a_round_size_is_written_as_it_is_read(count: int, power: int) -> None:
    assert size_of(size_text(count << power)) == count << power
