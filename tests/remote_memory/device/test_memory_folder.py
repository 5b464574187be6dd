from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from motet.domain.errors import BadInput
from motet.remote_memory.device.memory_folder import MemoryFolder, write_endpoint
from motet.transport import Endpoint


def test_the_secret_is_made_once_and_private(tmp_path: Path) -> None:
    folder = MemoryFolder(tmp_path / "memory")
    first = folder.secret()
    assert folder.secret() == first
    assert folder.secret_file.stat().st_mode & 0o077 == 0
    assert folder.path.stat().st_mode & 0o077 == 0


def test_a_folder_that_others_can_enter_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    with pytest.raises(BadInput, match="other users can enter the folder"):
        MemoryFolder(tmp_path).secret()


@pytest.mark.parametrize("name", ["", "../x", "a/b", ".hidden", "x" * 33])
def test_names_of_devices_are_names_of_folders(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadInput, match="letters, digits"):
        MemoryFolder(tmp_path).device(name)


def test_a_role_has_one_process(tmp_path: Path) -> None:
    folder = MemoryFolder(tmp_path)
    with (
        folder.claim_lender(),
        pytest.raises(BadInput, match="a lender of this user runs already"),
    ):
        folder.claim_lender()
    folder.claim_lender().close()


def test_a_look_at_a_role_never_refuses_who_claims_it(tmp_path: Path) -> None:
    folder, place = MemoryFolder(tmp_path), MemoryFolder(tmp_path).device("swap")
    is_over = threading.Event()

    def look() -> None:
        while not is_over.is_set():
            folder.lender_process()
            with suppress(BadInput):  # It has not told its number yet.
                folder.process_of(place)

    with ThreadPoolExecutor() as pool:
        looking = pool.submit(look)
        try:
            for _ in range(500):
                folder.claim_lender().close()
                folder.claim_device(place).close()
        finally:
            is_over.set()
        looking.result()


def test_the_holder_of_a_role_is_told_until_it_ends(tmp_path: Path) -> None:
    folder, place = MemoryFolder(tmp_path), MemoryFolder(tmp_path).device("swap")
    assert folder.lender_process() is None
    assert folder.process_of(place) is None
    with folder.claim_lender(), folder.claim_device(place):
        assert folder.lender_process() == os.getpid()
        assert folder.process_of(place) == os.getpid()
    assert folder.lender_process() is None
    assert folder.process_of(place) is None


def test_a_holder_that_has_not_told_its_number_holds_the_role(tmp_path: Path) -> None:
    folder = MemoryFolder(tmp_path)
    with folder.claim_lender():
        (tmp_path / "lender.lock").write_bytes(b"")
        assert folder.lender_process() == 0


def test_a_device_that_has_not_told_its_number_has_not_ended(tmp_path: Path) -> None:
    """Else `down` would remove the files of one that starts."""
    folder, place = MemoryFolder(tmp_path), MemoryFolder(tmp_path).device("swap")
    with folder.claim_device(place):
        (tmp_path / "device-swap.lock").write_bytes(b"")
        with pytest.raises(BadInput, match="starts just now"):
            folder.process_of(place)
    assert folder.process_of(place) is None


def test_a_lender_that_starts_leaves_no_address_of_one_that_was_killed(tmp_path: Path) -> None:
    folder = MemoryFolder(tmp_path)
    write_endpoint(folder.lender, Endpoint("127.0.0.1", 9))
    with folder.claim_lender():
        assert not folder.lender.exists()
        write_endpoint(folder.lender, Endpoint("127.0.0.1", 9))
        with pytest.raises(BadInput, match="runs already"):
            folder.claim_lender()
        assert folder.lender.exists()


def test_a_kept_port_that_cannot_be_read_is_none(tmp_path: Path) -> None:
    folder = MemoryFolder(tmp_path)
    assert folder.last_lender_port() is None
    folder.keep_lender_port(7400)
    assert folder.last_lender_port() == 7400
    (file,) = tmp_path.iterdir()
    for damaged in (b"\xff\n", b"70000\n", b"-1\n", b""):
        file.write_bytes(damaged)
        assert folder.last_lender_port() is None
    file.unlink()
    file.mkdir()  # Unlike a file's mode, an OSError for root, too.
    assert folder.last_lender_port() is None
