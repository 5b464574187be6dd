"""What the doctor finds about ports, with real sockets."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator

import pytest

from motet.interfaces.cli.doctor.port_checks import (
    connection_problem,
    head_port,
    listening_program,
    served_port,
    unreached_port,
)


@pytest.fixture
def taken_port() -> Iterator[int]:
    """A program that is no server of Motet listens there: this one."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        yield found.getsockname()[1]


@pytest.fixture
def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        port: int = found.getsockname()[1]
    return port


def test_a_port_where_nothing_listens_is_told(free_port: int) -> None:
    found = unreached_port(f"http://127.0.0.1:{free_port}", "does not answer")
    assert found.verdict == "wrong"
    assert found.message == (
        f"127.0.0.1:{free_port}: nothing listens there; start the server with 'motet server'"
    )


def test_the_program_that_has_taken_the_port_is_named(taken_port: int) -> None:
    found = unreached_port(f"http://127.0.0.1:{taken_port}", "is not a server of Motet")
    assert found.verdict == "wrong"
    assert f"127.0.0.1:{taken_port} is taken by another program" in found.message
    assert f"process {os.getpid()}" in found.message
    assert "start the server with --port N" in found.message


def test_a_name_without_an_address_is_told() -> None:
    found = unreached_port("https://nowhere.invalid:8443", "does not answer")
    assert "nowhere.invalid:8443: the name is unknown" in found.message
    assert "TCP port 8443" in found.message


def test_the_head_of_a_cluster_is_reached_or_not(taken_port: int, free_port: int) -> None:
    assert head_port(f"127.0.0.1:{taken_port}").verdict == "ok"
    lost = head_port(f"127.0.0.1:{free_port}")
    assert lost.verdict == "wrong"
    assert f"motet server --head 127.0.0.1:{free_port}" in lost.message


def test_ports_are_examined_by_connections(taken_port: int, free_port: int) -> None:
    assert connection_problem("127.0.0.1", taken_port) is None
    assert connection_problem("127.0.0.1", free_port) == "nothing listens there"
    assert listening_program(free_port) == ""


def test_who_reaches_a_server_is_told() -> None:
    alone = served_port("http://127.0.0.1:80", "127.0.0.1", is_encrypted=False)
    assert alone.message == "127.0.0.1:80 answers; reached by this machine alone"
    others = served_port("https://head:8443", "0.0.0.0", is_encrypted=True)
    assert others.message == "head:8443 answers; listens on 0.0.0.0 for other machines"
