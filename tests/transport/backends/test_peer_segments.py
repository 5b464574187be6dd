from __future__ import annotations

import fcntl
import os
from contextlib import suppress

import pytest

from motet.transport.backends.peer_segments import PeerSegments
from motet.transport.framing import ProtocolError, Reference


def open_files() -> set[str]:
    """Threads of other tests may get the number of a descriptor that was closed."""
    found = set()
    for number in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):
            found.add(os.readlink(f"/proc/self/fd/{number}"))
    return found


@pytest.mark.parametrize("seals", [0, fcntl.F_SEAL_SHRINK])
def test_a_segment_that_could_shrink_is_refused(seals: int) -> None:
    descriptor = os.memfd_create("bad", os.MFD_ALLOW_SEALING)
    os.ftruncate(descriptor, 4096)
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)
    assert "/memfd:bad (deleted)" in open_files()
    segments = PeerSegments()
    segments.add_descriptors([descriptor])
    with pytest.raises(ProtocolError, match="not sealed"):
        segments.attach(Reference(0, 0, 4096))
    assert "/memfd:bad (deleted)" not in open_files()
