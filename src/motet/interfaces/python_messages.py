"""Error messages of the Python functions: they name arguments where the command names options.

Most errors are raised by layers that serve the command line and Python alike, with the option to
change. A Python function passes them on with the name of its argument.
"""

from __future__ import annotations

import functools
import inspect
import re
import shlex
from collections.abc import Callable, Iterator
from typing import ParamSpec, TypeVar

from motet.domain.errors import BadInput, MotetError

P = ParamSpec("P")
R = TypeVar("R")

_SWITCHES = {
    "resume": "resume=True",
    "overwrite": "overwrite=True",
    "skip-bad-rows": "load_trace(..., skip_bad_rows=True)",
}
_OTHER_NAMES = {
    "out": "checkpoints",
    "jobs": "processes",
    "set": "",
    "server": "url",
    "throughputs": "'motet simulate --throughputs'",
}
_RATING_ROLES = {"user", "item", "rating"}
_NO_VALUES = ("to", "are", "and", "or", "with", "does", "if", "instead", "is", "out")
_COLUMNS = re.compile(
    r"--columns (?P<pairs>'(?:[^']|'\"'\"')*'|\w+=[^\s,;:()]+(?:,\w+=[^\s,;:()]+)*)"
)
_LINE_BREAK = re.compile(r"\s*\n\s*")
_OPTION = re.compile(
    r"(?P<command>'(?:motet|ray|pip) [^']*')"
    r"|(?P<before>(?:with |give |say )?)--(?P<name>[a-z][a-z-]*)"
    r"(?:(?P<gap>[ =])(?P<value>'[^']*'|[^\s,;:()]+(?::[^\s,;:()]+)*))?"
)


def python_arguments(function: Callable[P, R]) -> Callable[P, R]:
    """Errors of Motet that the function raises name Python arguments instead of options."""

    @functools.wraps(function)
    def with_python_messages(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except MotetError as error:
            error.args = (_told(error),)
            raise

    return with_python_messages


def python_methods(kind: type[R]) -> type[R]:
    """Class decorator: the same for the public methods of a class and its constructor."""
    for name, value in list(vars(kind).items()):
        if inspect.isfunction(value) and (name == "__init__" or not name.startswith("_")):
            setattr(kind, name, python_arguments(value))
    return kind


def python_items(items: Iterator[R]) -> Iterator[R]:
    """The same for what an iterator raises."""
    try:
        yield from items
    except MotetError as error:
        error.args = (_told(error),)
        raise


def _told(error: MotetError) -> str:
    """In one line also where it shows a refused table or array, which Python prints in several."""
    message = python_message(str(error))
    return _LINE_BREAK.sub(" ", message) if isinstance(error, BadInput) else message


def python_message(message: str) -> str:
    """`--workers 0: must be ...` as `workers=0: must be ...`; commands in quotes stay."""
    return _OPTION.sub(_as_argument, _COLUMNS.sub(_as_dictionary, message))


def _as_dictionary(match: re.Match[str]) -> str:
    """`--columns user=NAME,item=NAME` as `columns={'user': 'NAME', 'item': 'NAME'}`.

    Columns of other names are those of a trace, which `load_trace` takes.
    """
    (pairs,) = shlex.split(match["pairs"])
    if "=" not in pairs:  # A refused value.
        return match[0]
    columns = dict(pair.split("=", 1) for pair in pairs.split(","))
    if columns.keys() <= _RATING_ROLES:
        return f"columns={columns}"
    return f"load_trace(..., columns={columns})"


def _as_argument(match: re.Match[str]) -> str:
    if match["command"]:
        return match["command"]
    option, gap, value = match["name"], match["gap"] or "", match["value"]
    before = match["before"]
    argument = _OTHER_NAMES.get(option, option.replace("-", "_"))
    if option in _SWITCHES:
        return f"{before}{_SWITCHES[option]}{gap}{value or ''}"
    if value is None:
        return before + (argument or "its parameters")
    if value in _NO_VALUES:
        return f"{before}{argument or 'its parameters'}{gap}{value}"
    if not argument:  # `--set NAME=VALUE` is an argument already.
        return before + value
    return f"{before}{argument}={_literal(value)}"


def _literal(value: str) -> str:
    """A value as Python code; words in capitals stand for one."""
    is_code = value.startswith(("'", '"')) or value.isupper() or re.fullmatch(r"-?[\d.]+", value)
    return value if is_code else repr(value)
