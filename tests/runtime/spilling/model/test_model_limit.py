"""A job in a control group whose model is larger than its memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from motet.runtime.backends.local.cluster import LocalCluster
from motet.runtime.controller.job import Job
from motet.runtime.core.options import SpillOptions, TrainOptions
from spilled_jobs import LimitedGroup, limited_group
from wide_model import WIDTH, WideModel

MEGABYTE = 1 << 20
MODEL_MB, LIMIT_MB = 96, 180
DISK = Path("/var/tmp")


@pytest.fixture
def group(tmp_path: Path) -> Iterator[LimitedGroup]:
    with limited_group(tmp_path, LIMIT_MB) as made:
        if made is None:
            pytest.skip("control groups of memory are not permitted here")
        yield made


def trained(cluster: LocalCluster, share: float | None) -> str:
    """The model's digest."""
    app = WideModel(MODEL_MB * MEGABYTE // (8 * WIDTH))
    options = TrainOptions(
        machines=1, workers=1, servers=1, epochs=2, spill=SpillOptions(share, DISK)
    )
    result = Job(app, app.prepare(None, seed=1), options, cluster).run()
    assert not result.recoveries
    return result.model_sha256


@pytest.mark.soak
def test_a_job_that_evaluates_a_copy_of_a_model_of_over_half_the_memory_ends(
    group: LimitedGroup,
) -> None:
    """Its server and its worker have the whole model at a time, beside sums of changes."""
    assert 2 * MODEL_MB > LIMIT_MB
    with LocalCluster(1) as cluster:
        free = trained(cluster, 1.0)
        group.join(cluster.template_id)
        limited = trained(cluster, None)
    assert group.kills == 0
    assert limited == free
