"""Values that NumPy casts to float64 silently although they are no real numbers.

Dates and time spans become nanoseconds, complex numbers lose their imaginary part.
"""

from __future__ import annotations

from typing import Any

from motet.domain.errors import BadArgument

_HELD = {"M": "dates", "m": "time spans", "c": "complex numbers"}


def require_real(values: Any, name: str) -> None:
    """Raise BadInput if an array or a Series holds dates, time spans or complex numbers."""
    kind = getattr(getattr(values, "dtype", None), "kind", "f")
    if kind in _HELD:
        raise BadArgument(f"{name} holds {_HELD[kind]}, not numbers; {_remedy(kind, name)}")


def require_real_columns(frame: Any, source: str) -> None:
    """Raise BadInput for the first such column of a DataFrame."""
    for position, name in enumerate(frame.columns):
        kind = frame.dtypes.iloc[position].kind
        if kind in _HELD:
            remedy = _remedy(kind, f"X[{name!r}]")
            raise BadArgument(
                f"{source}: column {name!r} holds {_HELD[kind]}, not numbers; {remedy}, or drop it"
            )


def _remedy(kind: str, values: str) -> str:
    if kind == "M":
        return f"convert them to numbers, for example days: ({values} - start) / pd.Timedelta('1D')"
    if kind == "m":
        return f"convert them to numbers, for example seconds: {values} / pd.Timedelta('1s')"
    return "give real numbers, for example the real and imaginary parts as columns"
