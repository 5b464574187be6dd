"""The pool of a cluster whose pMaster cannot be prepared."""

from __future__ import annotations

from pathlib import Path

import pytest

from motet.aggregation.master.processes.pool_folder import PoolFolder
from motet.aggregation.master.processes.pool_settings import PoolSettings
from motet.domain.errors import Unreachable
from motet.live.shared_pool.cluster_launcher import AggregatorProgram
from motet.live.shared_pool.cluster_pool import ClusterPool, ClusterPoolOptions
from waiting import wait_until


def test_a_pool_that_cannot_be_prepared_says_why(tmp_path: Path) -> None:
    options = ClusterPoolOptions(PoolSettings(1), AggregatorProgram({}, 60.0))
    pool = ClusterPool(PoolFolder(tmp_path / "pool"), options, lambda _: None, lambda *_: None)
    pool.folder.log.mkdir()
    pool.start()
    wait_until(lambda: "Is a directory" in pool.failure)
    with pytest.raises(Unreachable, match=r"does not run: .*Is a directory"):
        pool.view()
    pool.close()
