"""Sizes as users write them: `4G`, `512M`, in powers of 1024."""

from __future__ import annotations

import re

from motet.domain.errors import BadArgument

_UNITS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}
_FORM = re.compile(r"([0-9]{1,15})(?:\.([0-9]{1,6}))?([KMGT]?)(?:i?B)?", re.IGNORECASE)


def size_of(text: str | int) -> int:
    """Bytes from `4G`, `512MiB`, `1.5g` or a number of bytes. Raises BadArgument."""
    if isinstance(text, int) and text > 0:
        return text
    found = _FORM.fullmatch(str(text).strip())
    if found is None:
        raise BadArgument(f"{text!r:.40} is not a size; write 512M or 4G")
    whole, fraction, unit = found.groups()
    size = float(f"{whole}.{fraction or 0}") * (1 << _UNITS[unit.upper()])
    if size < 1 or size != int(size):
        raise BadArgument(f"{text!r:.40} is not a whole number of bytes above 0")
    return int(size)


def size_text(size_bytes: int) -> str:
    """The shortest form that `size_of` reads back, or one decimal: `4G`, `1.5G`."""
    for unit in ("T", "G", "M", "K"):
        scale = 1 << _UNITS[unit]
        if size_bytes >= scale:
            return f"{size_bytes / scale:.1f}".removesuffix(".0") + unit
    return str(size_bytes)
