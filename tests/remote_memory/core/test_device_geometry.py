from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.domain.errors import BadInput
from motet.remote_memory.core.device_geometry import PAGE_BYTES, DeviceGeometry

PAGE = PAGE_BYTES


@given(slab=st.integers(1, 9), size=st.integers(1, 60), most=st.integers(1, 20), data=st.data())
def test_ranges_cover_a_request_once_and_cross_no_slab(
    slab: int, size: int, most: int, data: st.DataObject
) -> None:
    geometry = DeviceGeometry(size * PAGE, slab * PAGE)
    first = data.draw(st.integers(0, size - 1))
    pages = data.draw(st.integers(1, size - first))
    ranges = list(geometry.ranges(first * PAGE, pages * PAGE, most * PAGE))
    covered = [
        part.slab * slab + part.first_page + page for part in ranges for page in range(part.pages)
    ]
    assert covered == list(range(first, first + pages))
    assert all(part.first_page + part.pages <= slab and part.pages <= most for part in ranges)
    assert [part.start for part in ranges] == [
        PAGE * sum(part.pages for part in ranges[:place]) for place in range(len(ranges))
    ]
    assert all(part.slab < geometry.slabs for part in ranges)


def test_requests_must_be_whole_pages_inside_of_the_device() -> None:
    geometry = DeviceGeometry(10 * PAGE, 4 * PAGE)
    assert geometry.covers(9 * PAGE, PAGE)
    for offset, length in ((9 * PAGE, 2 * PAGE), (1, PAGE), (0, 100), (-PAGE, PAGE)):
        assert not geometry.covers(offset, length)


def test_a_size_that_is_not_of_whole_pages_is_refused() -> None:
    with pytest.raises(BadInput, match="size of 5000 bytes: give a multiple of 4096"):
        DeviceGeometry(5000, 4096)
    with pytest.raises(BadInput, match="slab size of 0 bytes"):
        DeviceGeometry(4096, 0)
