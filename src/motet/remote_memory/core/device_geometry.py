"""Pages and slabs of a device."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from motet.domain.errors import BadInput

PAGE_BYTES = 4096


class SlabRange(NamedTuple):
    """Pages of one slab. `start`: in bytes, where they begin in the request."""

    slab: int
    first_page: int
    pages: int
    start: int


@dataclass(frozen=True)
class DeviceGeometry:
    """A device of `size_bytes` in slabs of `slab_bytes`; the last slab may be partly used.

    Raises BadInput unless both are positive multiples of the page size.
    """

    size_bytes: int
    slab_bytes: int

    def __post_init__(self) -> None:
        check_whole_pages("size", self.size_bytes)
        check_whole_pages("slab size", self.slab_bytes)

    @property
    def pages(self) -> int:
        """Of the device."""
        return self.size_bytes // PAGE_BYTES

    @property
    def slab_pages(self) -> int:
        """Of one slab."""
        return self.slab_bytes // PAGE_BYTES

    @property
    def slabs(self) -> int:
        """Number of slabs."""
        return -(-self.size_bytes // self.slab_bytes)

    def covers(self, offset: int, length: int) -> bool:
        """Whether a request is aligned to pages and inside the device."""
        return (
            0 <= offset <= offset + length <= self.size_bytes
            and not offset % PAGE_BYTES
            and not length % PAGE_BYTES
        )

    def ranges(self, offset: int, length: int, most_bytes: int) -> Iterator[SlabRange]:
        """Divide a request at the borders of slabs, into parts of at most `most_bytes`."""
        start = 0
        while start < length:
            slab, inside = divmod(offset + start, self.slab_bytes)
            part = min(length - start, self.slab_bytes - inside, most_bytes)
            yield SlabRange(slab, inside // PAGE_BYTES, part // PAGE_BYTES, start)
            start += part


def check_whole_pages(name: str, size_bytes: int) -> None:
    """Raises BadInput unless the size is a positive multiple of the page size."""
    if size_bytes <= 0 or size_bytes % PAGE_BYTES:
        raise BadInput(f"{name} of {size_bytes} bytes: give a multiple of {PAGE_BYTES}")
