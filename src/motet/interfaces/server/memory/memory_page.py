"""The page of the memory that a cluster lends: what each machine lends, and which jobs borrow."""

from __future__ import annotations

import asyncio
from typing import Any

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response

from motet.interfaces.server.memory.routes import NO_MEMORY, MemoryDocuments
from motet.interfaces.server.web.pages import common
from motet.interfaces.server.web.renderer import PageRenderer
from motet.live.master.loop import MasterLoop

_PARTS = (
    ("used", 0, "in use"),
    ("requested", 1, "requested by jobs"),
    ("lent", 2, "lent"),
    ("evicting", 6, "being taken back"),
    ("free", 7, "to be lent"),
)
"""Of a bar: name, colour and words."""


class MemoryPage:
    """The page of one server."""

    def __init__(
        self, master: MasterLoop, documents: MemoryDocuments, renderer: PageRenderer
    ) -> None:
        self._master, self._documents, self._pages = master, documents, renderer

    def add_to(self, app: FastAPI) -> None:
        """Add the route."""
        app.add_api_route("/memory", self.memory, include_in_schema=False, response_model=None)

    async def memory(self, request: Request) -> Response:
        """All lenders and the jobs that borrow."""
        shown = await asyncio.wrap_future(self._master.read(common))
        if not self._documents.lends:
            return self._pages.render(request, "memory.html", {**shown, "problem": NO_MEMORY})
        values = memory_values(await self._documents.memory())
        return self._pages.render(request, "memory.html", {**shown, **values})


def memory_values(document: dict[str, Any]) -> dict[str, Any]:
    """What the template shows: sizes in words, parts of bars in per cent."""
    slab_bytes, most_bytes = document["slab_bytes"], document["most_bytes"]
    lenders = [_lender_row(each, slab_bytes) for each in document["lenders"]]
    jobs = [_job_row(each) for each in document["jobs"]]
    lent = sum(each["mapped_slabs"] for each in lenders) * slab_bytes
    free = sum(each["free_slabs"] for each in lenders) * slab_bytes
    return {
        "problem": "",
        "lenders": lenders,
        "jobs": jobs,
        "parts": _PARTS,
        "slab": _size(slab_bytes),
        "most": "" if most_bytes is None else _size(most_bytes),
        "quota": "" if document["quota_bytes"] is None else _size(document["quota_bytes"]),
        "lent": _size(lent),
        "free": _size(free),
    }


def _lender_row(each: dict[str, Any], slab_bytes: int) -> dict[str, Any]:
    lent = each["mapped_slabs"] - each["evicting_slabs"]
    sizes = {
        "used": each["used_bytes"],
        "requested": each["requested_bytes"],
        "lent": lent * slab_bytes,
        "evicting": each["evicting_slabs"] * slab_bytes,
        "free": each["free_slabs"] * slab_bytes,
    }
    return {
        **each,
        "state": _state(each),
        "size": _size(each["total_bytes"]),
        "bar": _bar(sizes, each["total_bytes"]),
        "told": ", ".join(f"{_size(sizes[name])} {words}" for name, _, words in _PARTS),
        **{f"{name}_size": _size(size) for name, size in sizes.items()},
    }


def _bar(sizes: dict[str, int], total_bytes: int) -> list[dict[str, Any]]:
    """The bar is the whole memory; what is left of it is free."""
    parts: list[dict[str, Any]] = []
    begin = 0.0
    for name, colour, words in _PARTS:
        width = min(100 * sizes[name] / max(total_bytes, 1), 100.0 - begin)
        title = f"{_size(sizes[name])} {words}"
        place = {"x": round(begin, 2), "width": round(width, 2)}
        parts.append({**place, "colour": colour, "title": title})
        begin += width
    return parts


def _job_row(each: dict[str, Any]) -> dict[str, Any]:
    return {
        **each,
        "size": _size(each["bytes"]),
        "gb_hours": f"{each['borrowed_gb_hours']:.3g}",
    }


def _state(lender: dict[str, Any]) -> str:
    if not lender["is_running"]:
        return "away"
    return "evicting" if lender["evicting_slabs"] else "lending"


def _size(size_bytes: int) -> str:
    """`1.5 GiB`."""
    value = float(size_bytes)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{value:.3g} {unit}"
        value /= 1024
    return f"{value:.3g} TiB"
