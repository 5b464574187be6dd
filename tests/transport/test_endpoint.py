from __future__ import annotations

import os
import subprocess
import sys

import pytest

from motet.domain.errors import BadInput
from motet.transport import Connection, Endpoint, Server, host_identity
from transport_parts import ECHO, echo


def test_an_endpoint_is_decoded_from_its_encoding() -> None:
    endpoint = Endpoint("10.0.0.7", 4711, "motet-ab", "boot/4.5")
    assert Endpoint.decode(endpoint.encode()) == endpoint


@pytest.mark.parametrize(
    "text", ["", "localhost:80", "[]", '{"host":"a"}', '{"host":1,"port":"x"}']
)
def test_an_invalid_endpoint_text_is_bad_input(text: str) -> None:
    with pytest.raises(BadInput, match="not an endpoint"):
        Endpoint.decode(text)


def test_only_processes_of_the_same_host_share_memory(secret: bytes) -> None:
    with Server(echo, secret) as server:
        here = server.endpoint
        elsewhere = Endpoint(here.host, here.port, here.unix_name, "another host")
        for endpoint, is_local in ((here, True), (elsewhere, False)):
            with Connection(endpoint, secret) as connection:
                assert connection.is_local is is_local
                assert connection.request(ECHO, b"x").meta == b"x"


def test_a_client_without_access_to_the_unix_socket_uses_tcp(secret: bytes) -> None:
    with Server(echo, secret) as server:
        there = Endpoint(server.endpoint.host, server.endpoint.port, "motet-gone", host_identity())
        with Connection(there, secret) as connection:
            assert not connection.is_local


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to make a network namespace")
def test_another_network_namespace_is_another_host() -> None:
    program = "from motet.transport import host_identity; print(host_identity())"
    found = subprocess.run(
        ["unshare", "--net", sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": ":".join(path for path in sys.path if path)},
    )
    if found.returncode:
        pytest.skip(f"cannot make a network namespace: {found.stderr.strip()[-80:]}")
    assert found.stdout.strip() not in ("", host_identity())
