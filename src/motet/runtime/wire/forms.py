"""How a message's fields stand on the wire: one form per type, derived from type hints.

A message is a dataclass whose fields are numbers, text, optional values, tuples, mappings, sets,
arrays, `Rows`, or dataclasses of such fields. Everything but arrays becomes JSON.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, Protocol, TypeAlias, Union

import numpy as np

from motet.domain.arrays import Array, Indices
from motet.runtime.core.rows import Rows
from motet.runtime.wire.array_payload import IncomingArrays, OutgoingArrays
from motet.runtime.wire.errors import BadMessage

Json: TypeAlias = Any


class Form(Protocol):
    """One type's form on the wire."""

    def pack(self, value: Any, arrays: OutgoingArrays) -> Json:
        """The value as JSON; its arrays are added to `arrays`."""
        ...

    def unpack(self, packed: Json, arrays: IncomingArrays) -> Any:
        """The inverse of `pack`. Raises BadMessage."""
        ...


@dataclass(frozen=True)
class ScalarForm:
    """A bool, an int, a float or a str as itself."""

    type: type

    def pack(self, value: Any, arrays: OutgoingArrays) -> Json:
        """The value, also from NumPy's scalar types."""
        del arrays
        return self.type(value)

    def unpack(self, packed: Json, arrays: IncomingArrays) -> Any:
        """Refuses another type, but takes an int for a float."""
        del arrays
        if type(packed) is self.type:
            return packed
        if self.type is float and type(packed) is int:
            return _as_float(packed)
        raise BadMessage(f"{_brief(packed)} is not {self.type.__name__}")


@dataclass(frozen=True)
class ChoiceForm:
    """One of several words."""

    words: tuple[str, ...]

    def pack(self, value: Any, arrays: OutgoingArrays) -> Json:
        """The word."""
        del arrays
        return value

    def unpack(self, packed: Json, arrays: IncomingArrays) -> Any:
        """Refuses other words."""
        del arrays
        if not isinstance(packed, str) or packed not in self.words:
            raise BadMessage(f"{_brief(packed)} is none of {', '.join(self.words)}")
        return packed


@dataclass(frozen=True)
class OptionalForm:
    """A value or None."""

    present: Form

    def pack(self, value: Any, arrays: OutgoingArrays) -> Json:
        """None, or the value's JSON."""
        return None if value is None else self.present.pack(value, arrays)

    def unpack(self, packed: Json, arrays: IncomingArrays) -> Any:
        """None, or the value."""
        return None if packed is None else self.present.unpack(packed, arrays)


@dataclass(frozen=True)
class CollectionForm:
    """A tuple of equal entries, or a set, which is sent in ascending order."""

    entry: Form
    make: Callable[[Iterable[Any]], Any]

    def pack(self, value: Any, arrays: OutgoingArrays) -> Json:
        """A list."""
        entries = sorted(value) if isinstance(value, AbstractSet) else value
        return [self.entry.pack(each, arrays) for each in entries]

    def unpack(self, packed: Json, arrays: IncomingArrays) -> Any:
        """From a list."""
        return self.make([self.entry.unpack(each, arrays) for each in _list_of(packed)])


@dataclass(frozen=True)
class MappingForm:
    """A mapping as a list of pairs: JSON's own keys are always text."""

    key: Form
    value: Form

    def pack(self, value: Any, arrays: OutgoingArrays) -> Json:
        """Pairs in the mapping's order."""
        return [[self.key.pack(k, arrays), self.value.pack(v, arrays)] for k, v in value.items()]

    def unpack(self, packed: Json, arrays: IncomingArrays) -> Any:
        """A dict in the same order."""
        pairs = [_list_of(pair, 2) for pair in _list_of(packed)]
        return {self.key.unpack(k, arrays): self.value.unpack(v, arrays) for k, v in pairs}


@dataclass(frozen=True)
class ArrayForm:
    """An array; `dtype` None: of any type."""

    dtype: np.dtype[Any] | None

    def pack(self, value: Any, arrays: OutgoingArrays) -> Json:
        """Its description."""
        return arrays.add(value)

    def unpack(self, packed: Json, arrays: IncomingArrays) -> Any:
        """A copy out of the payload."""
        array = arrays.take(packed)
        if self.dtype is not None and array.dtype != self.dtype:
            raise BadMessage(f"an array of {array.dtype} stands where {self.dtype} is expected")
        return array


@dataclass(frozen=True)
class RowsForm:
    """Instances: their ids, then their columns' arrays by name."""

    def pack(self, value: Any, arrays: OutgoingArrays) -> Json:
        """A list of names and descriptions; the ids have no name."""
        named = [("", value.ids), *value.arrays()]
        return [[name, arrays.add(array)] for name, array in named]

    def unpack(self, packed: Json, arrays: IncomingArrays) -> Any:
        """Refuses columns of other lengths than the ids."""
        named = [_list_of(pair, 2) for pair in _list_of(packed)]
        found = {str(name): arrays.take(description) for name, description in named}
        ids = found.pop("", None)
        if ids is None or ids.ndim != 1:
            raise BadMessage("instances without ids")
        return _checked_rows(ids, found)


@dataclass(frozen=True)
class RecordForm:
    """A dataclass as an object with its fields' names."""

    record: type
    fields: Mapping[str, Form]

    def pack(self, value: Any, arrays: OutgoingArrays) -> Json:
        """Every field."""
        return {name: form.pack(getattr(value, name), arrays) for name, form in self.fields.items()}

    def unpack(self, packed: Json, arrays: IncomingArrays) -> Any:
        """Refuses missing and unknown fields, and what the dataclass itself refuses."""
        name = self.record.__name__
        if not isinstance(packed, dict):
            raise BadMessage(f"{_brief(packed)} is not {name}")
        if missing := self.fields.keys() - packed.keys():
            raise BadMessage(f"{name} lacks {', '.join(sorted(missing))}")
        if unknown := packed.keys() - self.fields.keys():
            raise BadMessage(f"{name} has no field {_brief(min(unknown))}")
        values = {}
        for field, form in self.fields.items():
            try:
                values[field] = form.unpack(packed[field], arrays)
            except BadMessage as error:
                raise BadMessage(f"{name}.{field}: {error}") from None
        return self.record(**values)


def form_of(hint: Any) -> Form:
    """The form of a type. Raises TypeError for a type that no message may have."""
    return _form_of(hint)


@cache
def _form_of(hint: Any) -> Form:
    if hint in (bool, int, float, str):
        return ScalarForm(hint)
    if hint is Rows:
        return RowsForm()
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return _record_form(hint)
    return _generic_form(hint, typing.get_origin(hint), typing.get_args(hint))


def _record_form(record: type) -> RecordForm:
    hints = typing.get_type_hints(record)
    fields = dataclasses.fields(record)
    return RecordForm(record, {field.name: form_of(hints[field.name]) for field in fields})


def _generic_form(hint: Any, origin: Any, arguments: tuple[Any, ...]) -> Form:
    if origin is Literal:
        return ChoiceForm(arguments)
    if origin in (Union, types.UnionType) and len(arguments) == 2 and arguments[1] is type(None):
        return OptionalForm(form_of(arguments[0]))
    if origin is tuple and arguments[1:] == (...,):
        return CollectionForm(form_of(arguments[0]), tuple)
    if origin is set:
        return CollectionForm(form_of(arguments[0]), set)
    if origin in (dict, Mapping):
        return MappingForm(form_of(arguments[0]), form_of(arguments[1]))
    if origin is np.ndarray:
        return ArrayForm(_dtype_of(arguments[1]))
    raise TypeError(f"{hint} has no form on the wire")


def _checked_rows(ids: Indices, columns: Mapping[str, Array]) -> Rows:
    """Raises BadMessage unless every column has one entry per instance."""
    count = len(ids)
    for name, array in columns.items():
        base, _, part = name.partition(":")
        wanted = {"": count, "offsets": count + 1, "values": None}.get(part, -1)
        twin = f"{base}:{'values' if part == 'offsets' else 'offsets'}" if part else name
        if array.ndim == 0 or wanted not in (None, len(array)) or twin not in columns:
            raise BadMessage(
                f"{count} instances with a column {name[:40]!r} of shape {array.shape}"
            )
    return Rows.from_arrays(ids, columns)


def _dtype_of(hint: Any) -> np.dtype[Any] | None:
    """From `np.dtype[np.int32]`; None from `np.dtype[Any]`."""
    (scalar,) = typing.get_args(hint)
    return None if scalar is Any else np.dtype(scalar)


def _list_of(packed: Json, length: int | None = None) -> list[Any]:
    if not isinstance(packed, list) or length not in (None, len(packed)):
        raise BadMessage(
            f"{_brief(packed)} is not a list{'' if length is None else f' of {length}'}"
        )
    return packed


def _as_float(number: int) -> float:
    try:
        return float(number)
    except OverflowError as error:
        raise BadMessage(f"{_brief(number)} is too large") from error


def _brief(packed: Json) -> str:
    try:
        text = repr(packed)
    except (ValueError, RecursionError):
        text = type(packed).__name__
    return text if len(text) <= 60 else f"{text[:60]}..."
