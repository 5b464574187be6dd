"""The state folder of a server: no other user gets in, and none has prepared it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from motet.domain.errors import BadInput
from motet.interfaces.server import state_folder
from motet.interfaces.server.state_folder import open_state_folder, server_token

NOBODY = 65534


def test_a_new_folder_and_its_token_are_private(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "state"
    before = os.umask(0)
    try:
        open_state_folder(folder)
        token = server_token(folder)
    finally:
        os.umask(before)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / "token").stat().st_mode & 0o777 == 0o600
    assert len(token) >= 43
    assert server_token(folder) == token
    assert [path.name for path in folder.iterdir()] == ["token"]


@pytest.mark.parametrize(
    ("mode", "message"),
    [
        (0o755, "other users can read the journal of jobs; chmod 700"),
        (0o710, "other users can read the journal of jobs; chmod 700"),
        (0o777, "other users may have put files there; give another folder"),
        (0o1777, "other users may have put files there"),
        (0o720, "other users may have put files there"),
    ],
)
def test_a_folder_that_is_open_to_others_is_refused(
    tmp_path: Path, mode: int, message: str
) -> None:
    tmp_path.chmod(mode)
    with pytest.raises(BadInput, match=message):
        open_state_folder(tmp_path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give folders away")
def test_a_folder_of_another_user_is_refused(tmp_path: Path) -> None:
    os.chown(tmp_path, NOBODY, NOBODY)
    with pytest.raises(BadInput, match="belongs to another user"):
        open_state_folder(tmp_path)


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("")
    with pytest.raises(BadInput, match=r"--state-dir .*state: cannot be used"):
        open_state_folder(tmp_path / "state")


@pytest.mark.parametrize("content", [b"", b"\n", b"short\n", b"\xff" * 50, b"a" * 40 + b"\x1b[31m"])
def test_a_damaged_token_is_refused(tmp_path: Path, content: bytes) -> None:
    """With an empty one, every stranger would have the right token."""
    path = tmp_path / "token"
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(BadInput, match="not a token of Motet; delete it"):
        server_token(tmp_path)


def test_a_crash_while_the_token_is_written_leaves_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(state_folder.os, "fsync", full)
        with pytest.raises(OSError, match="No space"):
            server_token(tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert len(server_token(tmp_path)) >= 43
