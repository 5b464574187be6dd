"""Tables of lenders and devices for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from motet.interfaces.cli.shell.streams.visible import visible_text
from motet.remote_memory.core.byte_sizes import size_text

_WORDS = ("LENDS AT", "DEVICE", "STATE", "MACHINE", "NAME", "USER", "FROM")


def status_screen(
    lender: Mapping[str, Any] | None, problem: str, devices: Sequence[Mapping[str, Any]]
) -> RenderableType:
    """What this machine lends, or why not, then a row per device and the lenders of each."""
    absent = Text(visible_text(problem) or "lends nothing")
    parts: list[RenderableType] = [_lender_table(lender) if lender else absent]
    if devices:
        parts += [Text(), _device_table(devices), *_notes(devices)]
    return Group(*parts)


def _notes(devices: Sequence[Mapping[str, Any]]) -> Iterator[Text]:
    """Replicas and prefetch of the devices that have them; lenders that give no memory."""
    for each in devices:
        if not each["is_running"]:
            continue
        if each["replicas"] > 1:
            pages = f"{each['replicated_pages']:,} of {each['remote_pages']:,} pages"
            copied = f"{each['repaired_pages']:,} copied between lenders"
            yield Text(f"{each['name']}: {each['replicas']} lenders have {pages}; {copied}")
        if each["prefetched_pages"] is not None:
            issued, used = each["prefetched_pages"], each["prefetched_used"]
            rate = f", {used / issued:.1%} of them read" if issued else ""
            yield Text(f"{each['name']}: {issued:,} pages read ahead{rate}")
        for lender, failure in each["failures"].items():
            yield Text(visible_text(f"{each['name']}: lender {lender}: {failure}"))


def cluster_screen(document: Mapping[str, Any]) -> RenderableType:
    """What the machines of a live cluster lend, then a row per job that borrows."""
    parts: list[RenderableType] = [_machine_table(document)]
    if document["jobs"]:
        parts += [Text(), _borrower_table(document["jobs"])]
    return Group(*parts)


def _machine_table(document: Mapping[str, Any]) -> Table:
    table = _table(
        *("MACHINE", "SLAB", "REQUESTED", "FREE", "MAPPED", "EVICTING", "EVICTED", "REVOKED"),
        *("JOBS", "STATE"),
    )
    for each in document["lenders"]:
        state = "lending" if each["is_running"] else visible_text(each["reason"])
        table.add_row(
            Text(visible_text(each["machine"])),
            size_text(document["slab_bytes"]),
            size_text(each["requested_bytes"]),
            *(str(each[name]) for name in ("free_slabs", "mapped_slabs", "evicting_slabs")),
            *(str(each[name]) for name in ("evicted", "revoked")),
            str(len(each["job_ids"])),
            Text(state),
        )
    return table


def _borrower_table(jobs: Sequence[Mapping[str, Any]]) -> Table:
    table = _table("JOB", "NAME", "USER", "BORROWS", "GB-HOURS", "FROM")
    for each in jobs:
        places = [f"{name} × {slabs}" for name, slabs in each["machines"].items()]
        table.add_row(
            each["id"],
            Text(visible_text(each["name"])),
            Text(visible_text(each["user"])),
            size_text(each["bytes"]),
            f"{each['borrowed_gb_hours']:,.3g}",
            Text(visible_text(", ".join(places) or "-")),
        )
    return table


def _lender_table(lender: Mapping[str, Any]) -> Table:
    table = _table(
        "LENDS AT", "SLAB", "FREE", "MAPPED", "EVICTING", "EVICTED", "REVOKED", "CLIENTS"
    )
    table.add_row(
        lender["address"],
        size_text(lender["slab_bytes"]),
        *(str(lender[name]) for name in ("free_slabs", "mapped_slabs", "evicting_slabs")),
        *(str(lender[name]) for name in ("evicted", "revoked")),
        str(len(lender["clients"])),
    )
    return table


def _device_table(devices: Sequence[Mapping[str, Any]]) -> Table:
    table = _table("DEVICE", "SIZE", "MAPPED", "REMOTE", "PENDING", "CLIENTS", "LENDERS", "STATE")
    for each in devices:
        if not each["is_running"]:
            table.add_row(Text(each["name"]), *["-"] * 6, _state("ended", each))
            continue
        state = _state(visible_text(each["disk_error"]) or "running", each)
        table.add_row(
            Text(each["name"]),
            size_text(each["size_bytes"]),
            f"{each['mapped_slabs']}/{each['slabs']}",
            size_text(each["remote_pages"] << 12),
            size_text(each["pending_pages"] << 12),
            str(each["clients"]),
            f"{len(each['lenders']) - len(each['away'])}/{len(each['lenders'])}",
            state,
        )
    return table


def _state(state: str, device: Mapping[str, Any]) -> Text:
    swap = device["swap"]
    if swap is None:
        return Text(state)
    return Text(f"{state}, {size_text(swap['used_bytes'])} swapped")


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        is_word = column in _WORDS
        table.add_column(column, justify="left" if is_word else "right")
    return table
