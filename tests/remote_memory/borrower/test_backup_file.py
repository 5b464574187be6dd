from __future__ import annotations

import mmap
from pathlib import Path

import pytest

from motet.domain.errors import BadInput
from motet.remote_memory.borrower.backup_file import BackupFile
from remote_memory_parts import PAGE, content


def aligned(data: bytes) -> memoryview:
    memory = mmap.mmap(-1, len(data))
    memory[:] = data
    return memoryview(memory)


def test_the_file_has_its_whole_size_from_the_beginning(tmp_path: Path) -> None:
    with BackupFile(tmp_path / "backup", 100 * PAGE):
        found = (tmp_path / "backup").stat()
    assert found.st_size == 100 * PAGE
    assert found.st_blocks * 512 >= 100 * PAGE
    assert found.st_mode & 0o077 == 0


def test_pieces_are_written_one_behind_the_other(tmp_path: Path) -> None:
    pieces = [content(1, 2), content(2), content(3, 3)]
    into = bytearray(6 * PAGE)
    with BackupFile(tmp_path / "backup", 10 * PAGE) as file:
        file.write(2 * PAGE, [*map(aligned, pieces)])
        file.sync()
        file.read(2 * PAGE, memoryview(into))
    assert bytes(into) == b"".join(pieces)


def test_a_read_fills_memory_of_any_alignment(tmp_path: Path) -> None:
    into = bytearray(600 * PAGE + 1)
    with BackupFile(tmp_path / "backup", 600 * PAGE) as file:
        file.write(0, [aligned(content(4, 600))])
        file.read(0, memoryview(into)[1:])
    assert bytes(into[1:]) == content(4, 600)


def test_two_devices_cannot_use_one_file(tmp_path: Path) -> None:
    path = tmp_path / "backup"
    with (
        BackupFile(path, PAGE),
        pytest.raises(BadInput, match="another device uses this backup file"),
    ):
        BackupFile(path, PAGE)


def test_a_folder_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"none/backup: cannot open the backup file: No such file"):
        BackupFile(tmp_path / "none" / "backup", PAGE)


def test_a_disk_without_room_is_told(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"no room for .* name a file on another disk"):
        BackupFile(tmp_path / "backup", 1 << 60)


def test_a_file_that_grows_has_room_for_all_and_keeps_its_content(tmp_path: Path) -> None:
    path = tmp_path / "backup"
    with BackupFile(path, PAGE) as file:
        file.write(0, [aligned(content(1))])
        file.extend(50 * PAGE)
        file.extend(50 * PAGE)
        file.write(49 * PAGE, [aligned(content(2))])
        assert path.stat().st_blocks * 512 >= 50 * PAGE
    assert path.read_bytes()[:PAGE] == content(1)
    assert path.read_bytes()[49 * PAGE :] == content(2)
