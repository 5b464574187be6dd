"""Page and metrics of a machine's lender and devices, without a cluster."""

from __future__ import annotations

import re

import pytest
from starlette.testclient import TestClient

from motet.interfaces.server.memory.local_figures import local_text
from motet.interfaces.server.memory.local_site import local_site
from motet.remote_memory.swap.local_memory import LocalDevice, LocalMemory
from motet.remote_memory.swap.swap_table import SwapUse
from motet.remote_memory.wire.memory_views import DeviceView, LenderView

LENDER = LenderView(
    address="127.0.0.1:7400",
    slab_bytes=1 << 20,
    total_bytes=64 << 20,
    used_bytes=20 << 20,
    head_room_bytes=8 << 20,
    free_slabs=5,
    mapped_slabs=3,
    evicting_slabs=1,
    evicted=7,
    revoked=2,
    clients={"swap/1f": 1, "swap/2e": 1, "<other>/3d": 1},
)
VIEW = DeviceView(
    name="swap",
    size_bytes=8 << 20,
    slab_bytes=1 << 20,
    slabs=8,
    mapped_slabs=2,
    remote_pages=300,
    pending_pages=5,
    read_remote_pages=1000,
    read_local_pages=20,
    written_pages=400,
    evictions=6,
    clients=1,
    socket="/s",
    disk_error="no space",
    lenders={"127.0.0.1:7400": 2, "192.0.2.8:7400": 0},
    away=("192.0.2.8:7400",),
)
RUNNING = LocalDevice("swap", VIEW, SwapUse("/dev/loop0", 8 << 20, 3 << 20, 10))
ENDED = LocalDevice("old", None, None, "nothing runs there")
MEMORY = LocalMemory(LENDER, [RUNNING, ENDED])


def values(memory: LocalMemory) -> dict[str, float]:
    """By metric and labels but `machine`."""
    lines = local_text("here", lambda: memory).splitlines()
    found = (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    return {re.sub(r',?machine="here"', "", name): float(value) for name, value in found}


def page(memory: LocalMemory) -> str:
    client = TestClient(local_site("here", lambda: memory), base_url="http://127.0.0.1:9401")
    response = client.get("/")
    assert response.status_code == 200
    return response.text


@pytest.mark.parametrize(
    ("metric", "value"),
    [
        ('slabs{,state="lent"}', 2),
        ('device_up{device="swap"}', 1),
        ('device_up{device="old"}', 0),
        ('device_swapped_bytes{device="swap"}', 3 << 20),
        ('device_bytes{device="swap"}', 8 << 20),
        ('device_remote_bytes{device="swap"}', 300 << 12),
        ('device_pending_bytes{device="swap"}', 5 << 12),
        ('device_clients{device="swap"}', 1),
        ('device_disk_failing{device="swap"}', 1),
        ('device_slabs{device="swap",state="mapped"}', 2),
        ('device_slabs{device="swap",state="unmapped"}', 6),
        ('device_lenders{device="swap",state="up"}', 1),
        ('device_lenders{device="swap",state="away"}', 1),
        ('device_borrowed_slabs{device="swap",lender="127.0.0.1:7400"}', 2),
        ('device_read_remote_pages_total{device="swap"}', 1000),
        ('device_read_disk_pages_total{device="swap"}', 20),
        ('device_written_pages_total{device="swap"}', 400),
        ('device_evictions_total{device="swap"}', 6),
    ],
)
def test_a_figure_has_its_value(metric: str, value: float) -> None:
    assert values(MEMORY)[f"motet_memory_{metric}"] == value


def test_a_machine_without_lender_and_devices_has_no_figures() -> None:
    assert values(LocalMemory(None, [])) == {}


def test_a_device_that_does_not_answer_has_no_other_figures() -> None:
    assert values(LocalMemory(None, [ENDED])) == {'motet_memory_device_up{device="old"}': 0}


def test_the_page_shows_who_lends_and_who_borrows() -> None:
    text = page(MEMORY)
    assert re.search(r">swap</td><td[^>]*>2</td><td[^>]*>2M<", text)  # both of its connections
    assert "127.0.0.1:7400 × 2, 192.0.2.8:7400 × 0 (away)" in text
    assert "nothing runs there" in text
    assert 'title="no space"' in text


def test_a_borrower_cannot_put_markup_into_the_page() -> None:
    text = page(MEMORY)
    assert "&lt;other&gt;" in text
    assert "<other>" not in text


def test_an_empty_machine_has_a_page() -> None:
    text = page(LocalMemory(None, []))
    assert "No lender of this user answers" in text
    assert "No device of this user runs" in text


def test_requests_that_name_another_host_are_refused() -> None:
    client = TestClient(local_site("here", lambda: MEMORY), base_url="http://other.example")
    assert client.get("/").status_code == 400
    assert client.get("/metrics").status_code == 400


def test_metrics_and_style_are_served() -> None:
    client = TestClient(local_site("here", lambda: MEMORY), base_url="http://localhost")
    found = client.get("/metrics")
    assert found.headers["content-type"].startswith("text/plain")
    assert 'motet_memory_device_up{device="swap",machine="here"} 1.0' in found.text
    for name in re.findall(r'href="(/static/[^"]+)"', page(MEMORY)):
        assert client.get(name).status_code == 200
