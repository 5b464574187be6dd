"""Jobs in one control group whose data are twice its memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

import motet
from motet.domain.arrays import Array
from motet.interfaces.trained_model import TrainedModel
from motet.live.slots.memory_groups import (
    MemoryGroup,
    group_parent,
    make_memory_group,
    remove_memory_group,
)

MEGABYTE = 1 << 20
WIDTH, EPOCHS = 64, 4
SOAK = pytest.mark.soak


class LimitedGroup:
    """Processes that join may use so much memory together; beyond it the kernel kills them."""

    def __init__(self, group: MemoryGroup) -> None:
        self._group = group

    def join(self, process: int) -> None:
        Path(self._group.procs).write_text(str(process))

    @property
    def kills(self) -> int:
        lines = Path(self._group.events).read_text().splitlines()
        return int(dict(line.split() for line in lines)["oom_kill"])


@pytest.fixture
def limit_mb(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture
def group(tmp_path: Path, limit_mb: int) -> Iterator[LimitedGroup]:
    made = make_memory_group(tmp_path, limit_mb * MEGABYTE, group_parent())
    if made is None:
        pytest.skip("control groups of memory are not permitted here")
    yield LimitedGroup(made)
    remove_memory_group(made.folder)


def data(megabytes: int) -> Array:
    return np.random.default_rng(0).random((megabytes * MEGABYTE // (8 * WIDTH), WIDTH))


def trained(
    cluster: motet.Cluster, features: Array, jobs: int, spill: float | str
) -> Sequence[TrainedModel]:
    begun = [
        cluster.submit(
            "kmeans",
            features,
            n_clusters=4,
            workers=1,
            servers=1,
            epochs=EPOCHS,
            seed=seed,
            tol=0,
            spill=spill,
        )
        for seed in range(jobs)
    ]
    return [job.result() for job in begun]


@pytest.mark.parametrize(
    ("jobs", "each_mb", "limit_mb"),
    [(2, 256, 256), pytest.param(3, 320, 480, marks=SOAK), pytest.param(8, 160, 640, marks=SOAK)],
    indirect=["limit_mb"],
)
def test_jobs_with_twice_the_data_of_the_memory_end_with_the_models_of_free_memory(
    jobs: int, each_mb: int, limit_mb: int, group: LimitedGroup
) -> None:
    assert jobs * each_mb >= 2 * limit_mb
    features = data(each_mb)
    with motet.Cluster(jobs) as cluster:
        undisturbed = trained(cluster, features, jobs, 0.0)
        group.join(cluster._cluster.template_id)  # type: ignore[union-attr]
        limited = trained(cluster, features, jobs, "auto")
        assert group.kills == 0
    for free, tight in zip(undisturbed, limited, strict=True):
        np.testing.assert_array_equal(free.model.cluster_centers_, tight.model.cluster_centers_)
        assert not tight.document.recoveries
    assert sum(each.losses["load_s"].sum() for each in limited) > 0
