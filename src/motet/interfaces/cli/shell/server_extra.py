"""Commands that need the packages of the extra `server`."""

from __future__ import annotations

from importlib.util import find_spec

from motet.domain.errors import BadInput


def require_server_extra(otherwise: str = "") -> None:
    """Raises BadInput if the packages of the server are not installed.

    `otherwise`: what works without them.
    """
    needed = ("fastapi", "prometheus_client", "sqlalchemy", "uvicorn")
    missing = [name for name in needed if find_spec(name) is None]
    if missing:
        raise BadInput(
            f"the server needs {', '.join(missing)}, which this environment lacks; "
            f"pip install 'motet[server]'{otherwise}"
        )
