"""`motet.Client` has what the commands of the live cluster have."""

from __future__ import annotations

from collections.abc import Iterator

import click

import motet
from motet.interfaces.cli.commands import motet as commands

METHODS = {
    "submit": "submit dry_run",
    "list": "jobs",
    "describe": "job",
    "logs": "logs follow",
    "wait": "wait",
    "cancel": "cancel cancel_all",
    "suspend": "suspend",
    "resume": "resume",
    "update": "update",
    "events": "events",
    "explain": "explain prediction_coverage",
    "whatif": "what_if",
    "usage": "usage",
    "jobs export": "accounting export",
    "machine list": "machines",
    "machine drain": "drain_machine",
    "machine resume": "resume_machine",
    "machine subtasks": "machine_subtasks",
    "queue list": "queues",
    "queue describe": "queue",
    "queue create": "create_queue",
    "queue update": "limit_queue",
    "queue delete": "delete_queue",
    "queue hold": "hold_queue",
    "queue drain": "drain_queue",
    "queue resume": "resume_queue",
    "aggregator list": "aggregators",
    "memory status": "lenders borrowers",
    "aggregator describe": "aggregators",
    "aggregator jobs": "aggregator_jobs",
    "aggregator explain": "tensors",
    "policy show": "policy",
    "policy set": "set_policy",
    "metrics": "metrics",
    "user list": "users",
    "user create": "create_user",
    "user revoke": "revoke_user",
    "token list": "tokens",
    "token create": "create_token",
    "token revoke": "revoke_token",
    "webhook list": "webhooks",
    "webhook add": "add_webhook",
    "webhook test": "test_webhook",
    "webhook remove": "remove_webhook",
    "audit": "audit",
}
OF_THIS_MACHINE = {
    *("server", "server backup", "server restore", "machine join", "machine leave", "doctor"),
    *("config list", "config set", "config unset"),
}
OF_NO_CLUSTER = {
    *("train", "predict", "plan", "app list", "app describe", "simulate", "compare", "demo"),
    *("policy list", "policy describe", "trace describe", "trace convert", "trace generate"),
    *("aggregator start", "aggregator simulate", "aggregator drain", "completion"),
    *("memory lend", "memory simulate", "memory down", "memory web", "memory device up"),
}


def leaves(group: click.Group, before: str = "") -> Iterator[str]:
    """Every command with its groups; a group that is a command itself, too."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            if command.invoke_without_command:
                yield f"{before}{name}"
            yield from leaves(command, f"{before}{name} ")
        elif not command.hidden:
            yield f"{before}{name}"


def test_every_command_of_the_live_cluster_is_a_method() -> None:
    known = {*METHODS, *OF_THIS_MACHINE, *OF_NO_CLUSTER}
    assert {it for it in leaves(commands) if not it.startswith("testbed ")} == known
    for names in METHODS.values():
        assert [it for it in names.split() if not callable(getattr(motet.Client, it, None))] == []
