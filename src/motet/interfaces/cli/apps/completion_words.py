"""Completions of the shell for `motet train`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    import click

    from motet.interfaces.training_settings.parameters import Parameter


def complete_data(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Names of data sets and files; if no name matches, the shell completes files itself."""
    from motet.datasets.builtin.catalogue import dataset_names

    names = [name for name in dataset_names() if name.startswith(incomplete)]
    if not names:
        return [CompletionItem(incomplete, type="file")]
    return [CompletionItem(word) for word in (*names, *_files(incomplete))]


def complete_setting(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """NAME=DEFAULT of every parameter of the application on the command line."""
    return [
        CompletionItem(word, help=entry.kind_text)
        for entry in _settable(_app(ctx)).values()
        if (word := f"{entry.name}={entry.default_text}").startswith(incomplete)
    ]


def _app(ctx: click.Context) -> str | None:
    """The application. If the value of an option is missing, click has it in the arguments only."""
    return ctx.params.get("app") or next(iter(ctx.args), None)


def _settable(app: str | None) -> dict[str, Parameter]:
    from motet.apps import load_application
    from motet.domain.errors import MotetError
    from motet.interfaces.training_settings.settings import COMMON, settable_parameters

    try:
        return COMMON if app is None else settable_parameters(load_application(app))
    except MotetError:
        return COMMON


def _files(start: str) -> list[str]:
    found = (path for path in Path().iterdir() if path.name.startswith(start))
    visible = (path for path in found if not path.name.startswith("."))
    return sorted(f"{path.name}{os.sep if path.is_dir() else ''}" for path in visible)
