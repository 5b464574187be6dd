"""The address file of a pool, and the secret beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from motet.aggregation.wire.pool_address import PoolAddress, address_path
from motet.domain.errors import BadInput, Unreachable
from motet.transport import Endpoint, new_secret, write_secret


def test_an_address_is_read_back(tmp_path: Path) -> None:
    address = PoolAddress(Endpoint("127.0.0.1", 7000), new_secret())
    write_secret(tmp_path / "secret", address.secret)
    address.write_endpoint(tmp_path / "pool.json")
    assert PoolAddress.read(tmp_path / "pool.json") == address
    assert [each.name for each in sorted(tmp_path.iterdir())] == ["pool.json", "secret"]


def test_a_secret_that_others_can_read_is_refused(tmp_path: Path) -> None:
    write_secret(tmp_path / "secret", new_secret())
    (tmp_path / "secret").chmod(0o644)
    (tmp_path / "pool.json").write_text(Endpoint("127.0.0.1", 7000).encode())
    with pytest.raises(BadInput, match="mode 0644 lets other users read the secret"):
        PoolAddress.read(tmp_path / "pool.json")


@pytest.mark.parametrize("content", [b"{}", b"\xff\xfe", b"", b"[1, 2]"])
def test_a_file_without_an_address_is_refused(tmp_path: Path, content: bytes) -> None:
    write_secret(tmp_path / "secret", new_secret())
    (tmp_path / "pool.json").write_bytes(content)
    with pytest.raises(BadInput):
        PoolAddress.read(tmp_path / "pool.json")


def test_a_missing_file_means_no_pool(tmp_path: Path) -> None:
    with pytest.raises(Unreachable, match="start one with 'motet aggregator start'"):
        PoolAddress.read(tmp_path / "pool.json")


def test_an_argument_comes_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOTET_AGGREGATION", "/a/pool.json")
    assert address_path("/b/pool.json") == Path("/b/pool.json")
    assert address_path(None) == Path("/a/pool.json")


def test_without_any_address_the_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MOTET_AGGREGATION", raising=False)
    with pytest.raises(BadInput, match="set MOTET_AGGREGATION to the address file"):
        address_path(None)
    assert address_path(None, Path("/c/pool.json")) == Path("/c/pool.json")
