"""Figures of one lender over HTTP."""

from __future__ import annotations

import socket
from contextlib import closing

import httpx
import pytest

from motet.domain.errors import BadInput
from motet.interfaces.cli.memory.memory_metrics import show_metrics
from plain_http import NO_TLS
from remote_memory_parts import lending


def free_port() -> int:
    with closing(socket.create_server(("127.0.0.1", 0))) as found:
        port: int = found.getsockname()[1]
        return port


def test_a_lender_shows_its_slabs() -> None:
    port = free_port()
    with lending(5) as lender:
        show_metrics(lender.view, port)
        text = httpx.get(f"http://127.0.0.1:{port}/metrics", verify=NO_TLS).text
    machine = socket.gethostname()
    assert f'motet_memory_slabs{{machine="{machine}",state="free"}} 5.0' in text


def test_a_port_that_is_in_use_is_named() -> None:
    with (
        closing(socket.create_server(("127.0.0.1", 0))) as used,
        lending() as lender,
        pytest.raises(BadInput, match=f"--metrics {used.getsockname()[1]}: .*give another port"),
    ):
        show_metrics(lender.view, used.getsockname()[1])
