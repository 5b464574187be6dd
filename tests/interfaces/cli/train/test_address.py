"""`--address` is tried before Ray is imported."""

from __future__ import annotations

import socket

import pytest

from motet.domain.errors import BadInput, Unreachable
from motet.interfaces.cli.train.address import require_listener


def test_an_address_with_a_listening_process_is_accepted() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        require_listener(f"127.0.0.1:{server.getsockname()[1]}")


def test_the_cluster_on_this_machine_is_left_to_ray() -> None:
    require_listener("auto")


def test_an_address_without_a_listening_process_is_unreachable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        free_port = server.getsockname()[1]

    with pytest.raises(Unreachable, match=f"127.0.0.1:{free_port}: connection failed"):
        require_listener(f"127.0.0.1:{free_port}")


@pytest.mark.parametrize("address", ["", "head", "head:", "head:port", ":6379", "h:1/x", "h:99999"])
def test_an_invalid_address_is_bad_input(address: str) -> None:
    with pytest.raises(BadInput, match="write HOST:PORT"):
        require_listener(address)
