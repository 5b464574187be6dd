"""How programs find lenders."""

from __future__ import annotations

from pathlib import Path

import pytest

from motet.domain.errors import BadInput
from motet.remote_memory.device.lender_access import (
    LenderAccess,
    job_variables,
    known_access,
    lenders_text,
)
from motet.remote_memory.device.memory_folder import MemoryFolder, write_endpoint
from motet.remote_memory.wire.borrower_names import job_client, job_secret
from motet.transport import Endpoint, new_secret

LENDER = Endpoint("127.0.0.1", 7400, "name", "identity")


def test_a_job_finds_the_lenders_of_its_cluster(tmp_path: Path) -> None:
    address, secret = tmp_path / "lenders.json", new_secret()
    address.write_text(lenders_text(1 << 20, [LENDER]))
    found = LenderAccess.of_environment(job_variables(address, secret, "motet-1-a.1"))
    assert found == LenderAccess(
        [LENDER], job_secret(secret, "motet-1-a.1"), 1 << 20, job_client("motet-1-a.1")
    )
    assert repr(found.secret) not in repr(found)


def test_a_cluster_may_have_no_lender_yet(tmp_path: Path) -> None:
    found = LenderAccess.of_environment(job_variables(tmp_path / "none", new_secret(), "1"))
    assert found is not None
    assert list(found.lenders) == []


def test_outside_of_a_cluster_it_is_the_lender_of_this_user(tmp_path: Path) -> None:
    folder = MemoryFolder(tmp_path / "memory")
    secret = folder.secret()
    write_endpoint(folder.lender, LENDER)
    assert known_access(folder, {}) == LenderAccess([LENDER], secret)


@pytest.mark.parametrize("text", ["", "{}", '{"slab_bytes": 1, "lenders": [3]}', "[1]"])
def test_a_file_that_is_no_address_file_is_named(tmp_path: Path, text: str) -> None:
    address = tmp_path / "lenders.json"
    address.write_text(text)
    with pytest.raises(BadInput, match=r"lenders\.json"):
        LenderAccess.of_environment(job_variables(address, new_secret(), "1"))


def test_a_damaged_secret_is_named(tmp_path: Path) -> None:
    variables = {**job_variables(tmp_path, new_secret(), "1"), "MOTET_MEMORY_SECRET": "x"}
    with pytest.raises(BadInput, match="MOTET_MEMORY_SECRET"):
        LenderAccess.of_environment(variables)
