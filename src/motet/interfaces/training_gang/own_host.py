"""Where the other processes of a training reach this one, and the arbiter of its machine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from motet.live.launcher.rank_files import ARBITER, NODE_ADDRESS


def own_host(environment: Mapping[str, str]) -> str:
    """The address of this machine; without other machines only this one can connect."""
    return environment.get(NODE_ADDRESS, "127.0.0.1")


def arbiter_of_machine(environment: Mapping[str, str]) -> Path | None:
    """Where the arbiter of this machine listens; None: the training shares it with no other job."""
    found = environment.get(ARBITER)
    return Path(found) if found else None
