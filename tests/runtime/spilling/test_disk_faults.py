"""A full disk under spilled data ends its own job with one error, and no other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import motet
from motet.domain.errors import JobFailed
from motet.interfaces.training_job import TrainingJob
from motet.transport import write_secret
from remote_memory_parts import SECRET, lending
from small_disk import small_disk


def submitted(cluster: motet.Cluster, folder: Path | None, **options: Any) -> TrainingJob:
    features = np.random.default_rng(0).random((40_000, 32))
    return cluster.submit(
        "kmeans", features, n_clusters=4, epochs=3, tol=0, spill=1.0, spill_dir=folder, **options
    )


def test_a_full_disk_ends_its_own_job_only(tmp_path: Path) -> None:
    with small_disk(tmp_path / "full", 2_000) as full, motet.Cluster(2) as cluster:
        failing, other = submitted(cluster, full.path), submitted(cluster, None)
        with pytest.raises(JobFailed, match=r"spilling data to .*No space left on device; .*free"):
            failing.result()
        assert len(other.result().losses) == 3


@pytest.mark.soak
def test_a_full_disk_is_the_same_error_beside_remote_memory(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    write_secret(secret, SECRET)
    with (
        small_disk(tmp_path / "full", 2_000) as full,
        lending() as lender,
        motet.Cluster(2) as cluster,
    ):
        target = f"127.0.0.1:{lender.endpoint.port}"
        job = submitted(cluster, full.path, spill_to=target, spill_secret=secret)
        with pytest.raises(JobFailed, match=r"spilling data to .*No space left on device; .*free"):
            job.result()


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with motet.Cluster(2) as cluster:
        job = submitted(cluster, tmp_path / "missing")
        with pytest.raises(JobFailed, match="missing: No such file or directory; create it"):
            job.result()
