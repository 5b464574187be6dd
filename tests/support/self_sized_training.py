"""The job file of a training that proposes its own size."""

from __future__ import annotations

import slow_kmeans

SELF_SIZED = {
    "name": "fit",
    "app": slow_kmeans.__file__,
    "data": "synthetic-classification:rows=4000,features=20,classes=10",
    "workdir": "/",
    "set": {"tol": 0, "n_clusters": 10},
    "workers": {"min": 1, "max": 3},
    "servers": 1,
    "auto": True,
    "checkpoint_every": 5,
}
