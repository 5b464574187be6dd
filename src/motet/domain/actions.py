"""Requests to a driver: the difference between a decision and the running jobs."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from motet.domain.snapshot import Placement


class Start(NamedTuple):
    """Start a job for the first time, or resume it from its checkpoint. `asynchronous`: the policy
    lets it train so, beyond what its user wants."""

    job: int
    placement: Placement
    workers: int
    servers: int
    asynchronous: bool = False


class Preempt(NamedTuple):
    """Take all GPUs from a job; it keeps its progress."""

    job: int


class Migrate(NamedTuple):
    """Move or resize a job that runs. Fields as in `Start`."""

    job: int
    placement: Placement
    workers: int
    servers: int
    asynchronous: bool = False


Action: TypeAlias = Start | Preempt | Migrate
