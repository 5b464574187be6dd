"""Requests to a driver: the difference between a decision and the running jobs."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from motet.domain.snapshot import Placement


class Start(NamedTuple):
    """Start a job for the first time, or resume it from its checkpoint."""

    job: int
    placement: Placement
    workers: int
    servers: int


class Preempt(NamedTuple):
    """Take all GPUs from a job; it keeps its progress."""

    job: int


class Migrate(NamedTuple):
    """Move or resize a job that runs."""

    job: int
    placement: Placement
    workers: int
    servers: int


Action: TypeAlias = Start | Preempt | Migrate
