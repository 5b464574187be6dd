"""The bytes that the kernel and a FUSE file exchange."""

from __future__ import annotations

import struct

import pytest

from motet.remote_memory.fuse.fuse_protocol import (
    IN_HEADER,
    OldKernel,
    answer_to_init,
    answer_to_open,
    decode_request,
    file_attributes,
)


def init(major: int, minor: int, flags: int) -> memoryview:
    head = IN_HEADER.pack(56, 26, 7, 0, 0, 0, 0, 0)
    return memoryview(head + struct.pack("=IIII", major, minor, 1 << 17, flags))


def test_sizes_are_those_of_the_kernel() -> None:
    """`struct fuse_init_out`, `fuse_attr_out` and `fuse_open_out` of linux/fuse.h."""
    assert len(answer_to_init(init(7, 31, 0))) == 64
    assert len(file_attributes(1, 4096)) == 104
    assert len(answer_to_open()) == 16


def test_a_request_is_known_by_its_number() -> None:
    assert decode_request(init(7, 31, 0)) == (26, 7)


def test_only_flags_that_the_kernel_has_are_taken() -> None:
    asked = 1 << 15 | 1 << 3
    _, _, _, flags = struct.unpack_from("=IIII", answer_to_init(init(7, 40, asked)))
    assert flags == 1 << 15


@pytest.mark.parametrize(("major", "minor"), [(6, 40), (7, 27)])
def test_a_kernel_without_large_requests_is_refused(major: int, minor: int) -> None:
    with pytest.raises(OldKernel, match=f"FUSE {major}.{minor}"):
        answer_to_init(init(major, minor, 0))
