from __future__ import annotations

from pathlib import Path

import pytest

from motet.domain.errors import BadInput
from motet.remote_memory.device.lender_addresses import known_lenders, lender_at
from motet.remote_memory.device.memory_folder import MemoryFolder, write_endpoint
from motet.transport import Endpoint


@pytest.mark.parametrize(
    ("address", "endpoint"),
    [("host:7400", Endpoint("host", 7400)), ("[::1]:80", Endpoint("::1", 80))],
)
def test_addresses_name_a_host_and_a_port(address: str, endpoint: Endpoint) -> None:
    assert lender_at(address) == endpoint


@pytest.mark.parametrize("address", ["host", ":80", "host:", "host:x", "host:0", "host:65536"])
def test_other_addresses_are_refused(address: str) -> None:
    with pytest.raises(BadInput, match="write HOST:PORT"):
        lender_at(address)


def test_the_lender_of_the_folder_is_known_while_it_runs(tmp_path: Path) -> None:
    folder = MemoryFolder(tmp_path)
    assert known_lenders(folder) == []
    write_endpoint(folder.lender, Endpoint("127.0.0.1", 5))
    assert known_lenders(folder) == [Endpoint("127.0.0.1", 5)]
