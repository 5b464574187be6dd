"""A policy and its parameters from the command line."""

from __future__ import annotations

from collections.abc import Sequence

from motet.interfaces.cli.live.name_value import name_and_value
from motet.interfaces.live_cluster.policy_request import policy_request


def policy_and_settings(policy: str, settings: Sequence[str]) -> tuple[str, dict[str, str]]:
    """The name and the parameters as text. Raises BadInput for one that is not NAME=VALUE."""
    return policy_request(policy, dict(name_and_value("--set", each) for each in settings))
