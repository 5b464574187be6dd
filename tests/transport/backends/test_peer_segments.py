from __future__ import annotations

import fcntl
import os

import pytest

from motet.transport.backends.peer_segments import PeerSegments
from motet.transport.framing import ProtocolError, Reference


@pytest.mark.parametrize("seals", [0, fcntl.F_SEAL_SHRINK])
def test_a_segment_that_could_shrink_is_refused(seals: int) -> None:
    descriptor = os.memfd_create("bad", os.MFD_ALLOW_SEALING)
    os.ftruncate(descriptor, 4096)
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)
    segments = PeerSegments()
    segments.add_descriptors([descriptor])
    with pytest.raises(ProtocolError, match="not sealed"):
        segments.attach(Reference(0, 0, 4096))
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)
