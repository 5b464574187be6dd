"""Machines, queues, the policy and new tokens of a live cluster as typed values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Self

from motet.interfaces.live_cluster.answers import known_moment, moment

MACHINE_COLUMNS = (
    *("name", "slots", "used_slots", "state", "jobs", "gpus", "cpus", "memory_bytes"),
    *("failures_in_a_row", "drain_reason", "drain_user", "drain_from"),
)
AGGREGATOR_COLUMNS = (
    *("number", "machine", "is_running", "cycle_ns", "used_share", "jobs", "tensors", "replicas"),
    *("memory_bytes", "link_share"),
)
POOL_JOB_COLUMNS = (
    *("id", "job_name", "name", "phase", "workers", "servers", "tensors", "aggregators", "steps"),
    *("iteration_ns", "alone_ns", "predicted_loss", "measured_loss", "loss_limit", "late"),
    *("model_bytes", "largest_bytes"),
)
TENSOR_COLUMNS = ("name", "shape", "aggregator", "replica", "cpu_ns", "reason", "others")
LENDER_COLUMNS = (
    *("number", "machine", "is_running", "address", "reason", "total_bytes", "used_bytes"),
    *("requested_bytes", "head_room_bytes", "free_slabs", "mapped_slabs", "evicting_slabs"),
    *("evicted", "revoked", "jobs"),
)
BORROWER_COLUMNS = (
    *("id", "name", "user", "attempt", "slabs", "bytes", "machines", "borrowed_gb_hours"),
)
QUEUE_COLUMNS = (
    *("name", "slots", "running", "waiting", "guarantee", "borrow", "lend", "borrowed"),
    *("idle_guarantee", "mode"),
)


@dataclass(frozen=True)
class ClusterMachine:
    """A machine. `state`: UP, DRAINING (jobs still run), DRAINED, CLOSED or GONE. `jobs`: slots by
    job. `cpus`, `memory_bytes`: None: unknown. `drain_from`: None: no drain, or a time to come;
    `drain_user`: None: the server."""

    name: str
    slots: int
    used_slots: int
    state: str
    jobs: Mapping[int, int]
    gpus: tuple[str, ...]
    cpus: int | None
    memory_bytes: int | None
    failures_in_a_row: int
    drain_reason: str | None
    drain_user: str | None
    drain_from: datetime | None

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> Self:
        """From its document."""
        row = machine_row(found)
        row["gpus"] = tuple(map(str, row["gpus"]))
        return cls(**{**row, "drain_from": moment(row["drain_from"])})


def machine_row(found: Mapping[str, Any]) -> dict[str, Any]:
    """The document of a machine with the columns of a frame."""
    drain = found["drain"] or {}
    told = {f"drain_{name}": drain.get(name) for name in ("reason", "user", "from")}
    row = {**found, **told}
    row["jobs"] = {int(job): slots for job, slots in found["jobs"].items()}
    return {name: row[name] for name in MACHINE_COLUMNS}


@dataclass(frozen=True)
class ClusterQueue:
    """A queue. `slots`: those that its jobs hold; `borrowed` of them beyond the guarantee.
    `borrow`, `lend`: None: no limit. `mode`: open, held or draining."""

    name: str
    slots: int
    running: int
    waiting: int
    guarantee: int
    borrow: int | None
    lend: int | None
    borrowed: int
    idle_guarantee: int
    mode: str

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> Self:
        """From its document."""
        return cls(**{name: found[name] for name in QUEUE_COLUMNS})


@dataclass(frozen=True)
class ChosenPolicy:
    """The policy in force. `parameters`: with their defaults. `user`: None: the server itself.
    `failure`: why it decides no more; None: it does."""

    name: str
    parameters: Mapping[str, Any]
    since: datetime
    user: str | None
    failure: str | None = None

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> Self:
        """From its document."""
        since = known_moment(found["since"])
        return cls(found["policy"], found["parameters"], since, found["user"], found.get("failure"))


@dataclass(frozen=True)
class NewToken:
    """A token that was created. `text`: what its user sets as MOTET_TOKEN; the server does not show
    it again. `expires_at`: None: never."""

    id: str
    user: str
    role: str
    label: str
    expires_at: datetime | None
    text: str = field(repr=False)

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> Self:
        """From its document."""
        same = ("id", "user", "role", "label", "text")
        expires_at = moment(found["expires_at"])
        return cls(**{name: found[name] for name in same}, expires_at=expires_at)


@dataclass(frozen=True)
class NewWebhook:
    """A webhook that was added. `secret`: of its signatures; the server does not show it again."""

    id: str
    url: str
    events: tuple[str, ...]
    secret: str = field(repr=False)

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> Self:
        """From its document."""
        return cls(found["id"], found["url"], tuple(found["events"]), found["secret"])
