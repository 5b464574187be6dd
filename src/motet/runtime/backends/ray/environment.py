"""Environment variables that Ray reads when it is first imported; import this module before Ray.

Ray's clusters require a token by default, but clients send theirs only with RAY_AUTH_MODE=token. An
embedded Ray starts idle workers ahead of need, which executors cannot use. A request that was left
to a thread when its cluster was lost would start another Ray.
"""

from __future__ import annotations

import os
from pathlib import Path

_DEFAULTS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_ENABLE_AUTO_CONNECT": "0",
    "RAY_enable_worker_prestart": "0",
    "RAY_prestart_worker_first_driver": "0",
}


def set_ray_environment() -> None:
    """Set the variables that the user has not set."""
    for name, value in _DEFAULTS.items():
        os.environ.setdefault(name, value)
    if _has_token():
        os.environ.setdefault("RAY_AUTH_MODE", "token")


def _has_token() -> bool:
    return (
        "RAY_AUTH_TOKEN" in os.environ
        or "RAY_AUTH_TOKEN_PATH" in os.environ
        or (Path.home() / ".ray" / "auth_token").is_file()
    )


set_ray_environment()
