"""`motet policy list` and `describe`: the scheduling policies and their parameters."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Any

import click

from motet.interfaces.cli.shell.option_groups import json_option

if TYPE_CHECKING:
    from motet.domain.policy import Policy

_SENTENCE_END = re.compile(r"(?<![A-Z])\. ")
"""No initial of a name."""


def complete_policy(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Policy names for the shell."""
    from motet.engine.policy_loading.catalogue import built_in_policies

    return [name for name in built_in_policies() if name.startswith(incomplete)]


@click.command("list", short_help="List the policies.")
@json_option()
def list_policies(as_json: bool) -> None:
    """List the policies of 'motet simulate'."""
    from motet.engine.policy_loading.catalogue import built_in_policies

    found = built_in_policies()
    if as_json:
        from motet.interfaces.cli.shell.streams.results import print_json

        print_json([_entry(name, policy_class) for name, policy_class in found.items()])
        return
    width = max(map(len, found))
    for name, policy_class in found.items():
        click.echo(f"{name:<{width}}  {_summary(policy_class)}")


@click.command("describe", short_help="Show a policy's parameters.")
@click.argument("policy", metavar="P", shell_complete=complete_policy)
@json_option()
def describe_policy(policy: str, as_json: bool) -> None:
    """Show what policy P (a name, or ./mine.py) does, and its parameters for --set."""
    from motet.engine.policy_loading.catalogue import find_policies

    found = find_policies(policy)
    if as_json:
        from motet.interfaces.cli.shell.streams.results import print_json

        entries = [_entry(name, policy_class) for name, policy_class in found.items()]
        print_json(entries[0] if len(entries) == 1 else entries)
        return
    for name, policy_class in found.items():
        click.echo(f"{name}: {_account(policy_class)}\n")
        _echo_parameters("Parameters (--set NAME=VALUE):", _own_parameters(policy_class))
        _echo_parameters("Parameters of every policy:", _common_parameters(policy_class))
        click.echo(f"From: {inspect.getsourcefile(policy_class)}")


def _echo_parameters(heading: str, parameters: list[dict[str, Any]]) -> None:
    if not parameters:
        return
    settings = [f"{entry['name']}={_default_text(entry['default'])}" for entry in parameters]
    width = max(map(len, settings))
    click.echo(heading)
    for setting, entry in zip(settings, parameters, strict=True):
        click.echo(f"  {setting:<{width}}  {entry['type']}")
    click.echo()


def _entry(name: str, policy_class: type[Policy]) -> dict[str, Any]:
    return {
        "name": name,
        "summary": _summary(policy_class),
        "description": inspect.getdoc(policy_class) or "",
        "parameters": [*_own_parameters(policy_class), *_common_parameters(policy_class)],
    }


def _own_parameters(policy_class: type[Policy]) -> list[dict[str, Any]]:
    """The fields of the dataclass."""
    from dataclasses import MISSING
    from typing import get_type_hints

    from motet.engine.policy_loading.catalogue import parameters_of

    kinds = get_type_hints(policy_class)
    return [
        {
            "name": field.name,
            "type": _kind_text(kinds[field.name]),
            "default": None if field.default is MISSING else _plain(field.default),
        }
        for field in parameters_of(policy_class)
    ]


def _common_parameters(policy_class: type[Policy]) -> list[dict[str, Any]]:
    """The parameters of every policy; the default of `placement` is the policy's own."""
    from motet.sim.common_settings import COMMON_SETTINGS, PLACEMENTS
    from motet.sim.speeds.server_balance import DIVISIONS

    kinds = {
        "placement": "|".join(PLACEMENTS),
        "preemption_cost": "seconds, or profile",
        "min_runtime": "seconds that a job runs before it may be preempted",
        "preemptions_per_hour": "of one job at most, 3600 s / N apart; inf: no limit",
        "pack_limit": "a skew, 0 to 1, or auto, for placement=skew",
        "profiles": "a CSV file, or bundled",
        "queues": "a YAML file with guarantees and limits of queues, or none",
        "rescale_cost": "seconds, profile, or preemption (the preemption cost)",
        "server_balance": "|".join(DIVISIONS),
        "slow_machines": "fraction of time,mean seconds,factor, or a CSV file",
    }
    preferred = {"placement": policy_class.placement}
    return [
        {"name": name, "type": kinds.get(name, "text"), "default": default}
        for name, default in (COMMON_SETTINGS | preferred).items()
    ]


def _kind_text(kind: Any) -> str:
    """`a number`, `a|b`, `numbers, separated by commas`."""
    from typing import Literal, get_args, get_origin

    if get_origin(kind) is Literal:
        return "|".join(get_args(kind))
    if get_origin(kind) is tuple:
        return "numbers, separated by commas, or @FILE"
    names = {int: "a whole number", float: "a number", bool: "true or false"}
    return names.get(kind, "text")


def _plain(value: Any) -> Any:
    """Infinity as text: JSON has none."""
    return str(value) if value in (float("inf"), float("-inf")) else value


def _default_text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ",".join(map(_default_text, value))
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def _account(policy_class: type[Policy]) -> str:
    """The docstring; a summary comes first if the docstring only explains parameters."""
    text = inspect.getdoc(policy_class) or ""
    return (
        "\n\n".join(filter(None, [_summary(policy_class), text]))
        if _explains_parameters_only(text)
        else text
    )


def _explains_parameters_only(text: str) -> bool:
    return not text or text.startswith("`")


def _summary(policy_class: type[Policy]) -> str:
    """The first sentence of the docstring, or of the file's if it only explains parameters."""
    text = inspect.getdoc(policy_class) or ""
    if _explains_parameters_only(text):
        text = inspect.getdoc(inspect.getmodule(policy_class)) or ""
    paragraph = text.partition("\n\n")[0].replace("\n", " ")
    return _SENTENCE_END.split(paragraph)[0].rstrip(".") + "."
