from __future__ import annotations

import pytest

from motet.remote_memory.wire.memory_messages import BadMemoryMessage
from motet.remote_memory.wire.memory_views import DeviceView, LenderView

DEVICE = DeviceView(
    *("swap", 4096, 4096, 1, 1, 1, 0, 1, 2, 3, 0, 1, "/run/nbd.sock"),
    lenders={"a:1": 1},
    away=("b:2",),
)


def test_views_arrive_as_they_were_sent() -> None:
    lender = LenderView("a:1", 4096, 10, 5, 1, 2, 3, 0, 0, 0, {"swap": 3})
    assert LenderView.decode(lender.encode()) == lender
    assert DeviceView.decode(DEVICE.encode()) == DEVICE


@pytest.mark.parametrize("data", [b"", b"[]", b"\xff"])
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(BadMemoryMessage):
        LenderView.decode(data)
