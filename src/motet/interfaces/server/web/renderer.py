"""Pages from templates, with the headers that all of them have."""

from __future__ import annotations

import time
from typing import Any
from urllib.parse import quote, urlsplit

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from motet import __version__
from motet.interfaces.server.accounts.caller_of_request import SCOPE_KEY
from motet.interfaces.server.web.job_filter import address
from motet.live.jobs.job_state import JobState

_OF_SERVER = 500
"""The first HTTP status of errors of the server."""
PAGE_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data:; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; "
    "base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def page_templates() -> Environment:
    """The templates of this package; values are escaped, and one that is missing is an error."""
    return Environment(
        loader=PackageLoader("motet.interfaces.server.web"),
        autoescape=select_autoescape(default=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


class PageRenderer:
    """Renders the templates of this package."""

    def __init__(self, root_path: str = "") -> None:
        """`root_path`: see Exposure."""
        self.root_path = root_path
        self._templates = page_templates()
        self._templates.globals |= {
            "address": lambda query, **changes: root_path + address(query, **changes),
            "root": root_path,
            "version": __version__,
            "states": [*JobState],
        }

    def error(self, request: Request, status: int, message: str) -> Response:
        """A page that says what is wrong. It is loaded again after changes only where the server is
        at fault: it may be past that then."""
        values = {"message": message, "is_live": status >= _OF_SERVER}
        return self.render(request, "error.html", values, status)

    def render(
        self, request: Request, template: str, values: dict[str, Any], status: int = 200
    ) -> Response:
        """The page of a template with these values, and with what all pages show."""
        path = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        text = self._templates.get_template(template).render(
            {
                **values,
                "path": path,
                "reader": request.scope[SCOPE_KEY],
                "zone": time.strftime("%Z"),
            }
        )
        return HTMLResponse(text, status, headers=PAGE_HEADERS)


def local_path(path: str) -> str:
    """The path, if it leads to a page of this server, else that of the first page."""
    is_ours = path.startswith("/") and not path.startswith(("//", "/\\"))
    return quote(path, safe="/?&=%-_.~+") if is_ours else "/"


def page_before(request: Request, usual: str, root_path: str) -> str:
    """The page from which a request came."""
    came = urlsplit(request.headers.get("referer", ""))
    if came.netloc != request.headers.get("host") or not came.path.startswith("/"):
        return usual
    path = came.path.removeprefix(root_path) or "/"
    return local_path(path + (f"?{came.query}" if came.query else ""))
