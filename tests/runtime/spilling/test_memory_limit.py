"""Jobs in one control group whose data are twice its memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import motet
from spilled_jobs import LimitedGroup, begun_jobs, instances, limited_group

EPOCHS, CLUSTERS = 4, 4
pytestmark = pytest.mark.soak


@pytest.fixture
def limit_mb(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture
def group(tmp_path: Path, limit_mb: int) -> Iterator[LimitedGroup]:
    with limited_group(tmp_path, limit_mb) as made:
        if made is None:
            pytest.skip("control groups of memory are not permitted here")
        yield made


@pytest.mark.parametrize(
    ("jobs", "each_mb", "limit_mb"),
    [(2, 256, 256), (3, 256, 384), (3, 320, 480), (8, 160, 640)],
    indirect=["limit_mb"],
)
def test_jobs_with_twice_the_data_of_the_memory_end_with_the_models_of_free_memory(
    jobs: int, each_mb: int, limit_mb: int, group: LimitedGroup
) -> None:
    assert jobs * each_mb >= 2 * limit_mb
    features = instances(each_mb)
    with motet.Cluster(jobs) as cluster:
        free = begun_jobs(cluster, features, jobs, 0.0, epochs=EPOCHS, clusters=CLUSTERS)
        undisturbed = [job.result() for job in free]
        group.join(cluster._cluster.template_id)  # type: ignore[union-attr]
        tight = begun_jobs(cluster, features, jobs, "auto", epochs=EPOCHS, clusters=CLUSTERS)
        limited = [job.result() for job in tight]
        assert group.kills == 0
    for one, other in zip(undisturbed, limited, strict=True):
        np.testing.assert_array_equal(one.model.cluster_centers_, other.model.cluster_centers_)
        assert not other.document.recoveries
    assert sum(each.losses["load_s"].sum() for each in limited) > 0
    for each in limited:
        assert (each.losses["room_s"] <= each.losses["load_s"]).all()
