"""What Ray must find in the environment when it is first imported; import this before Ray.

Ray's clusters ask for a token by default, but its clients show theirs only when told to.
"""

from __future__ import annotations

import os
from pathlib import Path


def prepare() -> None:
    """Set what the user has not set."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    if _has_token():
        os.environ.setdefault("RAY_AUTH_MODE", "token")


def _has_token() -> bool:
    return (
        "RAY_AUTH_TOKEN" in os.environ
        or "RAY_AUTH_TOKEN_PATH" in os.environ
        or (Path.home() / ".ray" / "auth_token").is_file()
    )


prepare()
