"""Tables of Aggregators, their jobs and tensors for the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from motet.interfaces.cli.shell.streams.visible import visible_text


def aggregators_table(aggregators: Sequence[Mapping[str, Any]]) -> Table:
    """A row per Aggregator; how busy their links are, if these are limited."""
    has_machines = any("machine" in each for each in aggregators)
    has_links = any(each["link_share"] for each in aggregators)
    table = _table(
        *("N", *(["MACHINE"] if has_machines else []), "STATE", "CYCLE", "USED"),
        *(["LINK"] if has_links else []),
        *("TENSORS", "REPLICAS", "MEMORY", "JOBS"),
    )
    for each in aggregators:
        table.add_row(
            str(each["number"]),
            *([Text(visible_text(each["machine"] or "-"))] if has_machines else []),
            _state(each),
            _ms(each["cycle_ns"] or None),
            _used(each, "used_share"),
            *([_used(each, "link_share")] if has_links else []),
            str(each["tensors"]),
            str(each["replicas"]),
            f"{each['memory_bytes'] / 1e6:.1f} MB",
            Text(visible_text(", ".join(each.get("job_ids", each["jobs"])) or "-")),
        )
    return table


def _used(aggregator: Mapping[str, Any], share: str) -> str:
    return f"{aggregator[share]:.0%}" if aggregator["cycle_ns"] else "-"


def _state(aggregator: Mapping[str, Any]) -> str:
    if not aggregator["is_running"]:
        return "starting"
    return "draining" if aggregator["is_draining"] else "running"


def pool_jobs_table(jobs: Sequence[Mapping[str, Any]]) -> Table:
    """A row per job."""
    table = _table(
        *("JOB", "STATE", "WORKERS", "TENSORS", "AGGREGATORS", "STEPS", "ITERATION", "ALONE"),
        *("LOSS", "LIMIT", "LATE"),
    )
    for each in jobs:
        table.add_row(
            Text(visible_text(_job_label(each))),
            each["phase"],
            str(len(each["workers"])),
            str(each["tensors"]),
            ", ".join(map(str, each["aggregators"])) or "-",
            str(each["steps"]),
            _ms(each["iteration_ns"] or None),
            _ms(each["alone_ns"]),
            _share(each["measured_loss"]),
            _share(each["loss_limit"]),
            str(each["late"]),
        )
    return table


def aggregator_screen(
    aggregator: Mapping[str, Any], jobs: Sequence[Mapping[str, Any]]
) -> RenderableType:
    """One Aggregator and its jobs."""
    return Group(aggregators_table([aggregator]), Text(), pool_jobs_table(jobs))


def placement_screen(
    job: Mapping[str, Any], tensors: Sequence[Mapping[str, Any]]
) -> RenderableType:
    """A job, and where each of its tensors is."""
    table = _table("TENSOR", "SHAPE", "AGGREGATOR", "REPLICA", "CPU", "WHY")
    for each in tensors:
        table.add_row(*_tensor_cells(each), Text(each["reason"]))
    return Group(pool_jobs_table([job]), Text(), table)


def tensor_screen(tensor: Mapping[str, Any]) -> RenderableType:
    """One tensor, and why it is on no other Aggregator."""
    facts = Table(box=None, show_header=False, pad_edge=False)
    facts.add_column(no_wrap=True)
    facts.add_column(overflow="fold")
    names = ("tensor", "shape", "Aggregator", "replica", "CPU time")
    for place, name in enumerate(names):
        facts.add_row(name, _tensor_cells(tensor)[place])
    facts.add_row("why there", Text(tensor["reason"]))
    for place, other in enumerate(tensor["others"]):
        facts.add_row("elsewhere" if place == 0 else "", Text(other))
    return facts


def _job_label(job: Mapping[str, Any]) -> str:
    """Its number and name in the cluster, or its name in the pool."""
    if job.get("id") is None:
        return str(job["name"])
    return f"{job['id']} {job['job_name']}"


def _tensor_cells(tensor: Mapping[str, Any]) -> tuple[Text, str, str, str, str]:
    replica = tensor["replica"]
    return (
        Text(visible_text(tensor["name"])),
        "x".join(map(str, tensor["shape"])) or "scalar",
        str(tensor["aggregator"]),
        "-" if replica is None else str(replica),
        _ms(tensor["cpu_ns"]),
    )


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    words = {"MACHINE", "STATE", "JOBS", "JOB", "TENSOR", "SHAPE", "WHY", "AGGREGATORS"}
    for column in columns:
        table.add_column(column, justify="left" if column in words else "right")
    return table


def _ms(duration_ns: int | None) -> str:
    return "-" if duration_ns is None else f"{duration_ns / 1e6:.3g} ms"


def _share(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"
