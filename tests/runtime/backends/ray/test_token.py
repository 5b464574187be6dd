"""Ray's token: other users of the machine cannot read it and do not get in without."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import motet.runtime.backends.ray.environment  # noqa: F401
import other_unix_user
from motet.domain.errors import BadInput
from motet.runtime.backends.ray.cluster import RayCluster, ray
from motet.runtime.backends.ray.token import PrivateToken, require_private_token

VARIABLES = ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH", "RAY_TMPDIR")


def attack(home: Path, since_s: float) -> dict[str, Any]:
    """What another Unix user reaches, with all that is readable in HOME and /tmp.

    `since_s`: files that were not changed since then hold no token of the cluster.
    """
    gcs = ray.get_runtime_context().gcs_address
    script = other_unix_user.__file__
    environment = {k: v for k, v in os.environ.items() if k not in VARIABLES}
    ended = subprocess.run(
        [sys.executable, script, str(since_s), gcs, str(home), "/tmp"],
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    document: dict[str, Any] = json.loads(ended.stdout)
    return document


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home folder that others can enter, as most are; pytest's folders are private."""
    with tempfile.TemporaryDirectory(prefix="home-", dir="/tmp") as folder:
        path = Path(folder)
        path.chmod(0o755)
        monkeypatch.setenv("HOME", folder)
        yield path


@pytest.mark.soak
@pytest.mark.cluster
def test_every_run_has_a_token_of_its_own_that_opens_its_cluster_and_ends_with_it(
    no_shared_ray: None, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another Unix user gets in only with a readable token."""
    del no_shared_ray
    monkeypatch.setenv("RAY_AUTH_TOKEN", "f" * 64)
    before = {name: os.environ.get(name) for name in VARIABLES}
    since_s = time.time()
    with RayCluster.embedded(machines=1):
        if os.getuid() == 0:  # Only root can become another user.
            assert attack(home, since_s)["entered"] == 0
            (home / "notes").write_text(Path(os.environ["RAY_AUTH_TOKEN_PATH"]).read_text())
            assert attack(home, since_s)["entered"] == 1
        path = Path(os.environ["RAY_AUTH_TOKEN_PATH"])
        of_one_run = path.read_text()
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert "RAY_AUTH_TOKEN" not in os.environ
    assert not path.parent.exists()
    assert not (home / ".ray").exists()
    assert {name: os.environ.get(name) for name in VARIABLES} == before
    of_the_next = PrivateToken()
    try:
        assert Path(os.environ["RAY_AUTH_TOKEN_PATH"]).read_text() != of_one_run
    finally:
        of_the_next.discard()
    assert {name: os.environ.get(name) for name in VARIABLES} == before


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o660])
def test_a_token_that_others_can_read_is_refused(
    mode: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "token"
    path.write_text("f" * 64)
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.delenv("RAY_AUTH_TOKEN", raising=False)
    monkeypatch.setenv("RAY_AUTH_TOKEN_PATH", str(path))
    path.chmod(mode)
    with pytest.raises(BadInput, match=rf"token: mode {mode:04o} lets other users .* chmod 600"):
        require_private_token()
    path.chmod(0o600)
    require_private_token()


def test_ray_s_own_token_file_is_checked_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    for name in VARIABLES[1:3]:
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(BadInput, match="cannot read Ray's token"):
        require_private_token()
    (tmp_path / ".ray").mkdir()
    (tmp_path / ".ray" / "auth_token").write_text("f" * 64)
    (tmp_path / ".ray" / "auth_token").chmod(0o644)
    with pytest.raises(BadInput, match=r"auth_token: mode 0644"):
        require_private_token()
