"""`--set name=value`: hyper-parameters of an application, taken from its constructor."""

from __future__ import annotations

import inspect
import math
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from numbers import Integral
from typing import Any, Literal, get_args, get_origin

from motet.domain.errors import BadInput

TRUE, FALSE, NONE = ("true", "yes", "on", "1"), ("false", "no", "off", "0"), ("none", "null")


@dataclass(frozen=True)
class Parameter:
    """One value that `--set` can change. `kind`: its annotation, say `int` or `float | None`."""

    name: str
    kind: Any
    default: Any

    @property
    def kind_text(self) -> str:
        """The type in words: `a whole number`, `a number or none`, `bsp|ssp|async`."""
        return _kind_text(self.kind)

    def parse(self, text: str) -> Any:
        """Parses `text` as a value. Raises BadInput."""
        try:
            return _parse(text.strip(), self.kind)
        except ValueError:
            raise BadInput(
                f"--set {self.name}={text}: {self.name} must be {self.kind_text} "
                f"(default {self.default_text})"
            ) from None

    @property
    def default_text(self) -> str:
        """The default as written after `--set name=`."""
        if isinstance(self.default, bool) or self.default is None:
            return str(self.default).lower()
        return f"{self.default:g}" if isinstance(self.default, float) else str(self.default)


def constructor_parameters(constructor: Callable[..., Any]) -> dict[str, Parameter]:
    """The parameters of a class or function, in the order of its signature."""
    kinds = _annotations(constructor)
    return {
        name: Parameter(name, kinds.get(name, type(entry.default)), entry.default)
        for name, entry in inspect.signature(constructor).parameters.items()
    }


def require_whole(name: str, count: object) -> int:
    """The number, also one of NumPy. Raises BadInput for what is no whole number above 0."""
    if isinstance(count, bool) or not isinstance(count, Integral) or count < 1:
        raise BadInput(f"{name}={count!r:.40}: must be a whole number of at least 1")
    return int(count)


def parse_settings(
    settings: Iterable[str], known: Mapping[str, Parameter], of_what: str
) -> dict[str, Any]:
    """Values of `name=value` texts. Raises BadInput, for an unknown name with the known ones."""
    values: dict[str, Any] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        name = name.strip()
        if not equals or not name:
            raise BadInput(
                f"--set {setting!r}: write NAME=VALUE, for example --set {_example(known)}"
            )
        if name not in known:
            raise _unknown_parameter(name, known, of_what)
        if name in values:
            raise BadInput(f"--set {name} is given twice; give it once")
        values[name] = known[name].parse(text)
    return values


def _unknown_parameter(name: str, known: Mapping[str, Parameter], of_what: str) -> BadInput:
    near = get_close_matches(name.lower(), known, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ";"
    listing = ", ".join(map(_with_default, known.values()))
    return BadInput(f"unknown parameter of {of_what} {name!r}{hint} known: {listing}")


def _with_default(parameter: Parameter) -> str:
    return f"{parameter.name}={parameter.default_text}"


def _example(known: Mapping[str, Parameter]) -> str:
    return _with_default(next(iter(known.values())))


def _annotations(constructor: Callable[..., Any]) -> dict[str, Any]:
    """Resolved annotations; empty if they use names that are imported for type checking only."""
    target = constructor.__init__ if inspect.isclass(constructor) else constructor
    try:
        return typing.get_type_hints(target)
    except NameError:
        return {}


def _parse(text: str, kind: Any) -> Any:
    """Raises ValueError when `text` is no `kind`."""
    if _is_union(kind):
        return _parse_union(text, get_args(kind))
    if get_origin(kind) is Literal:
        return _parse_choice(text, get_args(kind))
    if kind is bool:
        return _parse_bool(text)
    if kind is int:
        return _parse_int(text)
    if kind is float:
        return _parse_float(text)
    return text


def _parse_union(text: str, kinds: tuple[Any, ...]) -> Any:
    if types.NoneType in kinds and text.lower() in NONE:
        return None
    for kind in kinds:
        if kind is types.NoneType:
            continue
        try:
            return _parse(text, kind)
        except ValueError:
            continue
    raise ValueError(text)


def _parse_choice(text: str, choices: tuple[Any, ...]) -> Any:
    for choice in choices:
        if text == str(choice):
            return choice
    raise ValueError(text)


def _parse_bool(text: str) -> bool:
    if text.lower() in TRUE:
        return True
    if text.lower() in FALSE:
        return False
    raise ValueError(text)


def _parse_int(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        number = float(text)  # whole numbers such as 1e6
    if not math.isfinite(number) or number != int(number):
        raise ValueError(text)
    return int(number)


def _parse_float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number


def _is_union(kind: Any) -> bool:
    return get_origin(kind) in (typing.Union, types.UnionType)


def _kind_text(kind: Any) -> str:
    if _is_union(kind):
        return " or ".join(_kind_text(part) for part in get_args(kind))
    if get_origin(kind) is Literal:
        return "|".join(map(str, get_args(kind)))
    names = {
        int: "a whole number",
        float: "a number",
        bool: "true or false",
        types.NoneType: "none",
    }
    return names.get(kind, "text")
