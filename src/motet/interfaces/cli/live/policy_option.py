"""A policy and its parameters from the command line."""

from __future__ import annotations

from collections.abc import Sequence

import click

from motet.interfaces.cli.live.name_value import name_and_value


def complete_live_policy(ctx: click.Context, param: click.Parameter, begin: str) -> list[str]:
    """Policy names for the shell."""
    from motet.engine.policy_loading.catalogue import built_in_policies

    del ctx, param
    return [name for name in built_in_policies() if name.startswith(begin)]


def policy_and_settings(policy: str, settings: Sequence[str]) -> tuple[str, dict[str, str]]:
    """The name and the parameters as text. Raises BadInput for one that is not NAME=VALUE."""
    from motet.interfaces.live_cluster.policy_request import policy_request

    return policy_request(policy, dict(name_and_value("--set", each) for each in settings))
