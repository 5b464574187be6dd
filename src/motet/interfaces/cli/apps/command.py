"""`motet app`: lists the applications and their parameters."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import click

from motet.interfaces.cli.shell.group import HelpfulGroup
from motet.interfaces.cli.shell.option_groups import json_option

if TYPE_CHECKING:
    from motet.apps.estimator import Estimator


def complete_app(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Application names for the shell."""
    from motet.apps import APPLICATIONS

    return [name for name in APPLICATIONS if name.startswith(incomplete)]


@click.group("app", cls=HelpfulGroup, short_help="List the applications and their parameters.")
def app_group() -> None:
    """The applications and their parameters."""


@app_group.command("list", short_help="List the applications.")
@json_option()
def list_apps(as_json: bool) -> None:
    """List the applications that 'motet train' can train."""
    from motet.apps import APPLICATIONS, load_application

    found = {name: load_application(name) for name in APPLICATIONS}
    if as_json:
        from motet.interfaces.cli.shell.streams.results import print_json

        print_json([_entry(app_class) for app_class in found.values()])
        return
    width = max(map(len, found))
    for name, app_class in found.items():
        click.echo(f"{name:<{width}}  {_summary(app_class)}")


@app_group.command("describe", short_help="Show an application's parameters.")
@click.argument("app", metavar="APP", shell_complete=complete_app)
@json_option()
def describe_app(app: str, as_json: bool) -> None:
    """Show what APP does, what data it reads and its parameters for --set."""
    from motet.apps import load_application
    from motet.interfaces.training_settings.settings import default_epochs

    app_class = load_application(app)
    if as_json:
        from motet.interfaces.cli.shell.streams.results import print_json

        print_json(_entry(app_class))
        return
    click.echo(f"{app_class.name}: {_description(app_class)}\n")
    click.echo(f"Reads: {app_class.dataset_kind} data. Epochs: {default_epochs(app_class)}.\n")
    click.echo("Parameters (--set NAME=VALUE):")
    for line in _parameter_lines(app_class):
        click.echo(line)


def _parameter_lines(app_class: type[Estimator]) -> list[str]:
    from motet.interfaces.training_settings.settings import settable_parameters

    parameters = settable_parameters(app_class).values()
    width = max(len(f"{entry.name}={entry.default_text}") for entry in parameters)
    return [
        f"  {f'{entry.name}={entry.default_text}':<{width}}  {entry.kind_text}"
        for entry in parameters
    ]


def _entry(app_class: type[Estimator]) -> dict[str, Any]:
    from motet.interfaces.training_settings.settings import default_epochs, settable_parameters

    return {
        "name": app_class.name,
        "summary": _summary(app_class),
        "reads": app_class.dataset_kind,
        "epochs": default_epochs(app_class),
        "parameters": [
            {"name": entry.name, "type": entry.kind_text, "default": entry.default}
            for entry in settable_parameters(app_class).values()
        ],
    }


def _description(app_class: type[Estimator]) -> str:
    """The docstring of the class itself: that of a class it derives from is about another one."""
    own = vars(app_class).get("__doc__")
    return inspect.cleandoc(own) if own else "no description; give its class a docstring"


def _summary(app_class: type[Estimator]) -> str:
    """The first sentence of the docstring of the application."""
    first_line = _description(app_class).partition("\n")[0]
    return first_line.partition(". ")[0].rstrip(".") + "."
