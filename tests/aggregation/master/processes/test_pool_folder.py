"""The folder of a pool: private, and of one pool at a time."""

from __future__ import annotations

from pathlib import Path

import pytest

from motet.aggregation.master.processes.pool_folder import PoolFolder
from motet.domain.errors import BadInput


def test_a_new_pool_has_new_secrets_and_nothing_of_the_one_before(tmp_path: Path) -> None:
    folder = PoolFolder(tmp_path / "pool")
    folder.open().close()
    before = folder.pool_secret.read_text()
    folder.state.write_text("old")
    folder.open().close()
    assert folder.pool_secret.read_text() != before
    assert not folder.state.exists()
    assert (folder.path.stat().st_mode & 0o777, folder.pool_secret.stat().st_mode & 0o777) == (
        0o700,
        0o600,
    )


def test_a_second_pool_in_the_same_folder_is_refused(tmp_path: Path) -> None:
    folder = PoolFolder(tmp_path / "pool")
    with folder.open(), pytest.raises(BadInput, match="a pool of Aggregators runs there already"):
        folder.open()


def test_a_folder_that_others_can_enter_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    with pytest.raises(BadInput, match=f"chmod 700 {tmp_path}"):
        PoolFolder(tmp_path).open()


def test_a_path_that_is_no_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="cannot keep a pool there"):
        PoolFolder(tmp_path / "file").open()


def test_the_pool_of_a_cluster_goes_on_with_its_secrets_and_state(tmp_path: Path) -> None:
    folder = PoolFolder(tmp_path / "pool")
    folder.open(goes_on=True).close()
    before = folder.pool_secret.read_text(), folder.program_secret.read_text()
    folder.state.write_text("old")
    folder.open(goes_on=True).close()
    assert (folder.pool_secret.read_text(), folder.program_secret.read_text()) == before
    assert folder.state.read_text() == "old"


def test_one_pmaster_uses_the_state_at_a_time(tmp_path: Path) -> None:
    folder = PoolFolder(tmp_path / "pool")
    with folder.open():
        with folder.lock_master(), pytest.raises(BadInput, match="another pMaster does not end"):
            folder.lock_master(patience_s=0.0)
        folder.lock_master(patience_s=0.0).close()
