from __future__ import annotations

import pytest

from motet.domain.errors import BadInput
from motet.remote_memory.device.slab_size import DEFAULT_SLAB_BYTES, ask_lenders
from motet.transport import new_secret
from remote_memory_parts import SECRET, SLAB_BYTES, lending


def test_another_secret_is_one_clear_error() -> None:
    with (
        lending() as lender,
        pytest.raises(BadInput, match=r"lender 127\.0\.0\.1:\d+: it has another secret; name"),
    ):
        ask_lenders([lender.endpoint], new_secret(), None)


def test_all_lenders_are_asked_and_silent_ones_are_named() -> None:
    with lending() as lender:
        gone = lender.endpoint
    with lending() as lender:
        found = ask_lenders([gone, lender.endpoint], SECRET, None)
        assert (found.slab_bytes, found.silent) == (SLAB_BYTES, [gone])
        assert not ask_lenders([lender.endpoint], SECRET, SLAB_BYTES).silent
        with pytest.raises(BadInput, match=r"slabs of 32768 bytes there, 65536 here"):
            ask_lenders([gone, lender.endpoint], SECRET, 2 * SLAB_BYTES)
    assert ask_lenders([gone], SECRET, None).slab_bytes == DEFAULT_SLAB_BYTES
    assert ask_lenders([gone], SECRET, 4096).slab_bytes == 4096
    assert ask_lenders([], SECRET, None).slab_bytes == DEFAULT_SLAB_BYTES


def test_lenders_with_slabs_of_two_sizes_are_refused() -> None:
    with (
        lending() as first,
        lending(slab_bytes=2 * SLAB_BYTES) as second,
        pytest.raises(BadInput, match=r"slabs of 65536 bytes there, 32768 here"),
    ):
        ask_lenders([first.endpoint, second.endpoint], SECRET, None)
