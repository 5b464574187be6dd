"""The command tree. The module of a command is imported when the command is used or listed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

import motet as package
from motet.interfaces.cli.shell.group import HelpfulGroup

COMMANDS = {
    "demo": "motet.interfaces.cli.demo.command:demo_command",
    "train": "motet.interfaces.cli.train.command:train_command",
    "predict": "motet.interfaces.cli.predict.command:predict_command",
    "plan": "motet.interfaces.cli.plan.command:plan",
    "app": "motet.interfaces.cli.apps.command:app_group",
    "simulate": "motet.interfaces.cli.simulate.command:simulate_command",
    "explain": "motet.interfaces.cli.explain.command:explain_command",
    "compare": "motet.interfaces.cli.simulate.compare_command:compare_command",
    "policy": "motet.interfaces.cli.policy.command:policy_command",
    "trace": "motet.interfaces.cli.trace.command:trace_group",
    "server": "motet.interfaces.cli.server.server_command:server_command",
    "submit": "motet.interfaces.cli.live.submit_command:submit_command",
    "list": "motet.interfaces.cli.live.job_lists.list_command:list_command",
    "events": "motet.interfaces.cli.live.job_lists.events_command:events_command",
    "describe": "motet.interfaces.cli.live.job_commands:describe_job_command",
    "logs": "motet.interfaces.cli.live.job_commands:logs_command",
    "wait": "motet.interfaces.cli.live.job_commands:wait_command",
    "cancel": "motet.interfaces.cli.live.job_commands:cancel_command",
    "suspend": "motet.interfaces.cli.live.job_commands:suspend_command",
    "resume": "motet.interfaces.cli.live.job_commands:resume_command",
    "update": "motet.interfaces.cli.live.queue_commands:update_command",
    "queue": "motet.interfaces.cli.live.queue_commands:queue_command",
    "machine": "motet.interfaces.cli.live.machine_commands:machine_command",
    "whatif": "motet.interfaces.cli.history.what_if_command:what_if_command",
    "usage": "motet.interfaces.cli.history.usage_command:usage_command",
    "jobs": "motet.interfaces.cli.history.export_command:jobs_group",
    "user": "motet.interfaces.cli.accounts.user_commands:user_group",
    "webhook": "motet.interfaces.cli.accounts.webhook_commands:webhook_group",
    "token": "motet.interfaces.cli.accounts.token_commands:token_group",
    "metrics": "motet.interfaces.cli.live.metrics_command:metrics_command",
    "audit": "motet.interfaces.cli.accounts.audit_command:audit_command",
    "doctor": "motet.interfaces.cli.doctor.command:doctor_command",
    "aggregator": "motet.interfaces.cli.aggregator.command:aggregator_group",
    "memory": "motet.interfaces.cli.memory.command:memory_group",
    "testbed": "motet.interfaces.cli.testbed.command:testbed_group",
    "config": "motet.interfaces.cli.live.config_command:config_group",
    "completion": "motet.interfaces.cli.shell.completion:completion_command",
}

ALIASES = {"ps": "list"}
"""Other names of commands, which the help does not list."""

SECTIONS = {
    "Training": ("train", "predict", "plan", "app"),
    "Scheduling policies": ("simulate", "compare", "explain", "policy", "trace"),
    "Live cluster": (
        *("server", "machine", "queue", "user", "token", "webhook", "audit", "metrics", "doctor"),
    ),
    "Jobs of the live cluster": (
        *("submit", "list", "describe", "logs", "wait", "cancel", "suspend", "resume", "update"),
        *("events", "whatif", "usage", "jobs"),
    ),
    "Aggregation for PyTorch": ("aggregator",),
    "Remote memory": ("memory",),
    "More": ("demo", "testbed", "config", "completion"),
}
"""Headings of `motet --help`; `explain` and `policy` are also for the live cluster."""


class LazyGroup(HelpfulGroup):
    """A group that imports a command when it is needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All commands, in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a name, or None."""
        cmd_name = ALIASES.get(cmd_name, cmd_name)
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name].partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands under their headings; those without one under the last."""
        named = {name for names in SECTIONS.values() for name in names}
        others = tuple(name for name in COMMANDS if name not in named)
        *_, last = SECTIONS
        for heading, names in SECTIONS.items():
            with formatter.section(heading):
                shown = (*names, *others) if heading == last else names
                formatter.write_dl([(name, self._short_help(ctx, name)) for name in shown])

    def _short_help(self, ctx: click.Context, name: str) -> str:
        command = self.get_command(ctx, name)
        assert command is not None
        return command.get_short_help_str(100)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve as click does; the error for an unknown command names similar ones."""
        if args and not args[0].startswith("-") and args[0] not in {**COMMANDS, **ALIASES}:
            from motet.domain.errors import UnknownName

            raise UnknownName("command", args[0], COMMANDS)
        return super().resolve_command(ctx, args)


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package.__version__, message="motet %(version)s")
def motet(**_: Any) -> None:
    """Train many machine-learning models on one cluster, and find out which scheduler serves them
    best.

    Start here:

    \b
      motet demo                       a live cluster with a dozen jobs, in two minutes
      motet train mlr --data digits    one model, on data that is already on this machine
      motet app list                   what can be trained
      motet simulate --trace tiresias-480 --cluster 15x4 --policy yarn-cs,tiresias-las
                                       two schedulers, replayed in seconds
    """
