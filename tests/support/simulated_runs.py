"""Runs for tests of figures: an ordinary one, and those at the edge."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from motet.report.cluster_run.quality import QualityOverTime
from motet.report.cluster_run.record import ClusterRun

RUN = ClusterRun(
    label="fifo",
    ids=("a", "b", "c", "d"),
    gpus=np.array([4, 4, 5, 8]),
    duration_s=np.array([799.9, 800, 10, 4000]),
    jct_s=np.array([800.0, 900, 1000, 5000]),
    queueing_delay_s=np.array([0.1, 100, 990, 1000]),
    rho=np.array([1.0, 0.5, 4, np.nan]),
    delay_causes_s={"fair_share": 90.1, "fragmentation": 1000, "policy_order": 1000},
    gpu_count=16,
    times_s=np.array([0.0, 10, 30]),
    used_gpus=np.array([16, 8, 0]),
    waiting_jobs=np.array([3, 1, 0]),
)
NOTHING = ClusterRun(
    label="lazy",
    ids=(),
    gpus=np.array([], dtype=np.int64),
    duration_s=np.array([]),
    jct_s=np.array([]),
    queueing_delay_s=np.array([]),
    rho=np.array([]),
    delay_causes_s={"fair_share": 0, "fragmentation": 0, "policy_order": 0},
    gpu_count=16,
    times_s=np.array([]),
    used_gpus=np.array([], dtype=np.int64),
    waiting_jobs=np.array([], dtype=np.int64),
)

NO_DELAY = {"fair_share": 0.0, "fragmentation": 0.0, "policy_order": 0.0}
ONE = replace(
    NOTHING,
    ids=("a",),
    gpus=np.array([1]),
    duration_s=np.array([100.0]),
    jct_s=np.array([100.0]),
    queueing_delay_s=np.array([0.0]),
    rho=np.array([1.0]),
    delay_causes_s=NO_DELAY,
)
IN_NO_TIME = replace(ONE, duration_s=np.array([0.0]), jct_s=np.array([0.0]), rho=np.array([np.nan]))

QUALITY = QualityOverTime(
    times_us=np.array([0, 10, 20, 30]) * 10**6,
    jobs=np.array([4, 4, 2, 0]),
    average_loss=np.array([1.0, 0.5, 0.25, np.nan]),
    gpus=np.array([[8, 4, 2, 0], [4, 4, 1, 0], [4, 8, 1, 0]]),
)
LEARNS = replace(RUN, label="slaq", quality=QUALITY)
