"""On how many GPUs jobs can run: whole workers with their servers, none that do not help."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from motet.domain.arrays import read_only
from motet.estimate.speed_function import SpeedMode, speed
from motet.estimate.widths import RequestedSizes, Widths, _widths, widths_of

LINEAR = (1.0, 0.0, 0.0, 0.0, 0.0, 1.0)


def found_of(
    mode: int = SpeedMode.SYNC, speeds: Any = LINEAR, most_gpus: int = 64, **request: int
) -> Widths:
    names = {"servers": 0, "min_servers": 0, "max_servers": 0, "worker_gpus": 1, "server_gpus": 0}
    columns = {name: np.array([value]) for name, value in (names | request).items()}
    return widths_of(RequestedSizes(**columns), np.array([mode]), np.array([speeds]), most_gpus)


@st.composite
def requests(draw: Any) -> dict[str, int]:
    workers, servers = draw(st.integers(1, 6)), draw(st.integers(0, 4))
    worker_gpus, server_gpus = draw(st.integers(1, 3)), draw(st.integers(0, 2))
    return {
        "gpus": workers * worker_gpus + servers * server_gpus,
        "workers": workers,
        "servers": servers,
        "min_workers": draw(st.integers(1, workers)),
        "max_workers": draw(st.integers(workers, 2 * workers)),
        "min_servers": draw(st.integers(min(servers, 1), servers)),
        "max_servers": draw(st.integers(servers, 2 * servers)),
        "worker_gpus": worker_gpus,
        "server_gpus": server_gpus,
    }


@given(
    requests(),
    st.sampled_from([SpeedMode.SYNC, SpeedMode.ASYNC]),
    st.tuples(*[st.floats(0.001, 2.0)] * 5, st.integers(1, 8)),
    st.integers(0, 30),
)
def test_widths_are_whole_workers_with_their_servers_and_ever_faster(
    request: dict[str, int], mode: SpeedMode, speeds: tuple[float, ...], more: int
) -> None:
    most_gpus = request["gpus"] + more
    found = found_of(mode, speeds, most_gpus, **request)
    whole = speed(mode, speeds, request["workers"], request["servers"])
    assert (np.diff(found.gpus) > 0).all()
    assert (np.diff(found.speed) > 0).all()
    of_roles = found.workers * request["worker_gpus"] + found.servers * request["server_gpus"]
    np.testing.assert_array_equal(found.gpus, of_roles)
    entries = list(zip(found.workers.tolist(), found.servers.tolist(), strict=True))
    expected = [request["gpus"] * speed(mode, speeds, *roles) / whole for roles in entries]
    np.testing.assert_allclose(found.speed, expected)
    for workers in range(request["min_workers"], request["max_workers"] + 1):
        wanted = -(-workers * request["servers"] // request["workers"])
        servers = min(max(wanted, request["min_servers"]), request["max_servers"])
        gpus = workers * request["worker_gpus"] + servers * request["server_gpus"]
        if gpus <= most_gpus:
            best = found.speed[found.entry(0, gpus)]
            this = request["gpus"] * speed(mode, speeds, workers, servers) / whole
            assert best >= this * (1 - 1e-6)


def test_a_rigid_job_has_its_full_request_as_only_width() -> None:
    found = found_of(mode=0, gpus=7, workers=1, min_workers=1, max_workers=1)
    assert [column.tolist() for column in found] == [[0, 1], [7], [1], [0], [7.0]]


def test_the_speed_of_an_unmeasured_job_is_proportional_to_workers() -> None:
    roles = {"servers": 2, "min_servers": 1, "max_servers": 4, "server_gpus": 1}
    found = found_of(mode=0, gpus=6, workers=4, min_workers=1, max_workers=6, **roles)
    assert found.workers.tolist() == [1, 2, 3, 4, 5, 6]
    assert found.servers.tolist() == [1, 1, 2, 2, 3, 3]
    np.testing.assert_allclose(found.speed, 6 * found.workers / 4)


def test_requests_that_can_be_written_need_no_further_compilation() -> None:
    request = RequestedSizes(*np.ones((9, 1), dtype=np.int64))
    mode, parameters = np.array([SpeedMode.SYNC]), np.array([LINEAR])
    widths_of(RequestedSizes(*map(read_only, request)), mode, parameters, 4)
    compiled = set(_widths.signatures)
    widths_of(request, read_only(mode), read_only(parameters), 4)
    assert set(_widths.signatures) == compiled
