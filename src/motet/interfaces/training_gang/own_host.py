"""Where the other processes of a training reach this one."""

from __future__ import annotations

from collections.abc import Mapping

from motet.live.launcher.rank_files import NODE_ADDRESS


def own_host(environment: Mapping[str, str]) -> str:
    """The address of this machine; without other machines only this one can connect."""
    return environment.get(NODE_ADDRESS, "127.0.0.1")
