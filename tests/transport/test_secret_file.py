from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from motet.domain.errors import BadInput
from motet.transport import new_secret, read_secret, write_secret


def test_a_secret_is_read_back_from_its_file(tmp_path: Path, secret: bytes) -> None:
    path = tmp_path / "secret"
    write_secret(path, secret)
    assert path.stat().st_mode & 0o777 == 0o600
    assert read_secret(path) == secret


def test_a_secret_that_others_can_read_is_refused(tmp_path: Path, secret: bytes) -> None:
    path = tmp_path / "secret"
    write_secret(path, secret)
    path.chmod(0o640)
    with pytest.raises(BadInput, match="chmod 600"):
        read_secret(path)


@pytest.mark.parametrize("content", ["", "xyz", "ab" * 16])
def test_a_malformed_secret_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "secret"
    path.write_text(content)
    path.chmod(0o600)
    with pytest.raises(BadInput, match="secret"):
        read_secret(path)


def test_a_secret_file_is_never_overwritten(tmp_path: Path, secret: bytes) -> None:
    path = tmp_path / "secret"
    write_secret(path, secret)
    with pytest.raises(BadInput, match="cannot write"):
        write_secret(path, new_secret())
    assert read_secret(path) == secret
    assert [*tmp_path.iterdir()] == [path]


def test_a_process_that_is_killed_while_it_writes_leaves_no_secret(tmp_path: Path) -> None:
    program = """
import os, sys
from pathlib import Path
from motet.transport import new_secret, write_secret
os.fdopen = lambda *_, **__: os._exit(9)
write_secret(Path(sys.argv[1]), new_secret())
"""
    path = tmp_path / "secret"
    command = [sys.executable, "-c", program, str(path)]
    assert subprocess.run(command, check=False).returncode == 9
    assert not path.exists()
    write_secret(path, new_secret())
