"""Paths of devices, pipes, sockets and folders where a file is asked for."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from motet.domain.bounded_reading.regular_files import NotAFile, regular_file


def test_a_file_and_a_link_to_it_are_files(tmp_path: Path) -> None:
    path, link = tmp_path / "a", tmp_path / "b"
    path.touch()
    link.symlink_to(path)
    assert (regular_file(path), regular_file(link)) == (path, link)


def test_what_never_ends_or_is_read_only_once_is_named(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        for path, kind in (
            (Path("/dev/zero"), "a device"),
            (tmp_path / "pipe", "a pipe"),
            (tmp_path / "socket", "a socket"),
        ):
            with pytest.raises(NotAFile, match=f"it is {kind}, not a file"):
                regular_file(path)


def test_a_folder_and_a_missing_file_are_what_open_says_too(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        regular_file(tmp_path)
    with pytest.raises(FileNotFoundError):
        regular_file(tmp_path / "none")
