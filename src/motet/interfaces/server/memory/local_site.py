"""A page and /metrics of this machine's lender and devices, for machines without a live cluster.

It is a process of its own: a device is locked into memory, and stays small without it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from motet import __version__
from motet.interfaces.server.memory.local_figures import local_text
from motet.interfaces.server.web.renderer import PAGE_HEADERS, page_templates
from motet.remote_memory.core.byte_sizes import size_text
from motet.remote_memory.core.device_geometry import PAGE_BYTES
from motet.remote_memory.swap.local_memory import LocalDevice, LocalMemory
from motet.remote_memory.wire.memory_views import LenderView

_HOSTS = ["127.0.0.1", "localhost", "[::1]"]
"""Names in requests; other names would be those of a foreign page that resolve to this machine."""


def local_site(machine: str, ask: Callable[[], LocalMemory]) -> Starlette:
    """The application. `ask`: may block; runs on a thread per request."""
    templates = page_templates()

    def page(request: Request) -> Response:
        del request
        text = templates.get_template("local_memory.html").render(local_values(machine, ask()))
        return HTMLResponse(text, headers=PAGE_HEADERS)

    def metrics(request: Request) -> Response:
        del request
        return PlainTextResponse(local_text(machine, ask), media_type=CONTENT_TYPE_LATEST)

    static = StaticFiles(packages=[("motet.interfaces.server.web", "static")])
    return Starlette(
        routes=[Route("/", page), Route("/metrics", metrics), Mount("/static", static)],
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=_HOSTS)],
    )


def local_values(machine: str, memory: LocalMemory) -> dict[str, Any]:
    """What the template shows: sizes in words."""
    return {
        "machine": machine,
        "version": __version__,
        "lender": None if memory.lender is None else _lender(memory.lender),
        "devices": [_device(each) for each in memory.devices],
    }


def _lender(view: LenderView) -> dict[str, Any]:
    borrowers = Counter[str]()
    for client, slabs in view.clients.items():  # A device has a name per connection.
        borrowers[client.partition("/")[0]] += slabs
    return {
        "address": view.address,
        "slab": size_text(view.slab_bytes),
        "total": size_text(view.total_bytes),
        "used": size_text(view.used_bytes),
        "head_room": size_text(view.head_room_bytes),
        "lent": size_text((view.mapped_slabs - view.evicting_slabs) * view.slab_bytes),
        "free": size_text(view.free_slabs * view.slab_bytes),
        "evicted": view.evicted,
        "revoked": view.revoked,
        "borrowers": [
            {"name": name, "slabs": slabs, "size": size_text(slabs * view.slab_bytes)}
            for name, slabs in sorted(borrowers.items())
        ],
    }


def _device(device: LocalDevice) -> dict[str, Any]:
    view, swap = device.view, device.swap
    shown = {
        "name": device.name,
        "reason": device.reason,
        "is_running": view is not None,
        "swapped": "" if swap is None else size_text(swap.used_bytes),
    }
    if view is None:
        return shown
    return {
        **shown,
        "problem": view.disk_error,
        "size": size_text(view.size_bytes),
        "remote": size_text(view.remote_pages * PAGE_BYTES),
        "pending": size_text(view.pending_pages * PAGE_BYTES),
        "mapped": f"{view.mapped_slabs} of {view.slabs}",
        "evictions": view.evictions,
        "lenders": [
            {"address": address, "slabs": slabs, "is_away": address in view.away}
            for address, slabs in view.lenders.items()
        ],
    }
