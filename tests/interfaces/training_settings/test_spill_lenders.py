from __future__ import annotations

from pathlib import Path

import pytest

from motet.domain.errors import BadInput
from motet.interfaces.training_settings import spill_lenders as module
from motet.interfaces.training_settings.spill_lenders import spill_lenders
from motet.remote_memory.device.lender_access import job_variables, lenders_text
from motet.remote_memory.device.memory_folder import MemoryFolder, write_endpoint
from motet.remote_memory.wire.borrower_names import job_client, job_secret
from motet.runtime.core.options import SpillLenders
from motet.transport import Endpoint, write_secret
from remote_memory_parts import SECRET, SLAB_BYTES, lending


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MemoryFolder:
    path = tmp_path / "memory"
    monkeypatch.setattr(module, "default_memory_folder", lambda: path)
    found = MemoryFolder(path)
    found.open()
    write_secret(found.secret_file, SECRET)
    return found


@pytest.mark.parametrize("target", [None, "disk"])
def test_the_disk_alone_needs_no_lender(target: str | None) -> None:
    assert spill_lenders(target, None) is None


def test_remote_is_the_lender_of_this_user_if_it_runs(folder: MemoryFolder) -> None:
    alone = spill_lenders("remote", None)
    assert alone is not None
    assert alone.endpoints == ()
    with lending() as lender:
        write_endpoint(folder.lender, lender.endpoint)
        found = spill_lenders("remote", None)
    assert found == SpillLenders((lender.endpoint,), SECRET, SLAB_BYTES)


def test_remote_is_the_lenders_of_the_live_cluster_in_its_jobs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, lender = tmp_path / "lenders.json", Endpoint("127.0.0.1", 7400)
    address.write_text(lenders_text(SLAB_BYTES, [lender]))
    for name, value in job_variables(address, SECRET, "motet-3-ab.1").items():
        monkeypatch.setenv(name, value)
    secret = job_secret(SECRET, "motet-3-ab.1")
    expected = SpillLenders((lender,), secret, SLAB_BYTES, job_client("motet-3-ab.1"))
    assert spill_lenders("remote", None) == expected


def test_addresses_of_lenders_that_do_not_answer_are_kept() -> None:
    with lending() as first:
        gone = first.endpoint
    found = spill_lenders(f"127.0.0.1:{gone.port}, [::1]:{gone.port}", None)
    assert found is not None
    assert found.endpoints == (Endpoint("127.0.0.1", gone.port), Endpoint("::1", gone.port))


def test_lenders_with_slabs_of_two_sizes_are_refused() -> None:
    with (
        lending() as first,
        lending(slab_bytes=2 * SLAB_BYTES) as second,
        pytest.raises(BadInput, match=r"slabs of 65536 bytes there, 32768 here"),
    ):
        spill_lenders(f"{first.endpoint},{second.endpoint}", None)


def test_what_is_no_target_is_named() -> None:
    with pytest.raises(BadInput, match=r"spill_to='host': .*write HOST:PORT, or 'disk' or 'rem"):
        spill_lenders("host", None)


def test_a_secret_needs_lenders(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="spill_secret is for lenders of memory; give spill_to"):
        spill_lenders("disk", tmp_path)


def test_the_secret_is_in_no_text_of_the_options() -> None:
    found = spill_lenders("127.0.0.1:1", None)
    assert found is not None
    assert found.secret == SECRET
    assert repr(SECRET) not in repr(found)
