from __future__ import annotations

from pathlib import Path

import pytest

from motet.domain.errors import BadInput
from motet.remote_memory.device.memory_folder import MemoryFolder


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
        folder.claim("lender"),
        pytest.raises(BadInput, match="a lender of this user runs already"),
    ):
        folder.claim("lender")
    folder.claim("lender").close()


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
