"""Requests of workers arrive as they were sent; damaged ones are refused."""

from __future__ import annotations

import pytest

from motet.aggregation.wire.worker_requests import FinishStep, PushGradients, WorkerRequest
from motet.runtime.wire.errors import BadMessage

OPTIONS = ({"lr": 0.1, "betas": (0.9, 0.999)}, {"lr": 1e-3})
HEAD = 3, 1 << 40, (5, 0, 7), (1, 2, 0)


@pytest.mark.parametrize(
    "request_",
    [
        PushGradients(*HEAD),
        PushGradients(*HEAD, True),
        PushGradients(*HEAD, False, True, True, OPTIONS),
        PushGradients(*HEAD, True, True, False, None),
        FinishStep(*HEAD, True, OPTIONS),
        FinishStep(*HEAD, False),
    ],
)
def test_requests_arrive_as_they_were_sent(request_: WorkerRequest) -> None:
    assert type(request_).decode(request_.encode()) == request_


def test_the_end_of_a_push_is_that_of_its_tensors() -> None:
    assert PushGradients(*HEAD, True, True, True, OPTIONS).end == FinishStep(*HEAD, True, OPTIONS)


@pytest.mark.parametrize(
    "extra", [b"\x02", b"\x02[true,null]", b"\x00[true]", b"\x01{", b"\x00[1,[]]"]
)
def test_a_damaged_end_is_refused(extra: bytes) -> None:
    with pytest.raises(BadMessage):
        PushGradients.decode_extra(extra)
