"""Tells the master the sizes of models that jobs train on the Aggregators, once per job."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from motet.aggregation.wire.job_credentials import job_of_cluster
from motet.aggregation.wire.pool_views import PoolView
from motet.live.master.facts import ModelSeen


class ModelSizes:
    """Used by one thread."""

    def __init__(self, ask: Callable[[ModelSeen], Any]) -> None:
        """`ask`: of the master, which ignores what it knows."""
        self._ask = ask
        self._told: set[int] = set()

    def seen(self, view: PoolView, jobs: Mapping[str, int]) -> None:
        """`jobs`: ids by their names in the pool."""
        for each in view.jobs:
            number = jobs.get(job_of_cluster(each.name))
            if number is not None and number not in self._told and each.model_bytes:
                self._told.add(number)
                self._ask(ModelSeen(number, each.model_bytes, each.largest_bytes))
