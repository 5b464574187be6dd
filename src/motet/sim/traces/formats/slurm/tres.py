"""Trackable resources of Slurm: `billing=8,cpu=8,gres/gpu:a100=2,gres/gpu=2,mem=64G,node=1`.

The names and units are those of slurm.conf(5), AccountingStorageTRES, and sacct(1). Older fields
list generic resources as `gpu:a100:2`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import ROUND_CEILING
from functools import lru_cache

from motet.sim.traces.cells import MOST_DEMAND, decimal_number, whole_number, whole_or_more

_NONE = "(null)"
"""What programs of Slurm print for a job without generic resources."""
_GPU, _OF_TYPE = "gres/gpu", "gres/gpu:"
_GRES = re.compile(r"(?:gres[:/])?gpu(?::[^:=,()]+)??(?::(?P<count>\d{1,9}))?(?:\([^)]*\))?")
_SIZE = re.compile(r"(?P<number>\d{1,15}(?:\.\d{1,9})?)(?P<unit>[KMGTP]?)B?", re.IGNORECASE)
_MEGABYTE = 2**20
_CACHED = 1 << 16  # Most jobs of a log request the same resources as others.
_UNITS = {"K": 2**10, "M": _MEGABYTE, "G": 2**30, "T": 2**40, "P": 2**50, "": _MEGABYTE}
"""Multiples of 1024; memory without a unit is in megabytes (slurm.conf)."""


def gpus_in(cell: str) -> int:
    """GPUs in a TRES or GRES text, or a plain number. Raises ValueError.

    `gres/gpu` is the number of all GPUs; the entries by type only count where it is missing.
    """
    text = cell.strip()
    if text.lower() == _NONE:
        return 0
    if "=" in text:
        entries = _entries(text)
        typed = [entries[name] for name in entries if name.startswith(_OF_TYPE)]
        counts = [entries[_GPU]] if _GPU in entries else typed
        return sum(whole_number(count) for count in counts)
    if text[:1].isalpha():
        found = (_GRES.fullmatch(part) for part in _split_gres(text))
        return sum(int(each["count"] or 1) for each in found if each)
    return whole_number(text)


def cpus_in(cell: str) -> int:
    """CPUs in a TRES text, or a plain number. Raises ValueError."""
    return whole_or_more(_entries(cell).get("cpu", "0") if "=" in cell else cell)


def nodes_in(cell: str) -> int:
    """Nodes in a TRES text, or a plain number. Raises ValueError."""
    return whole_number(_entries(cell).get("node", "0") if "=" in cell else cell)


def memory_bytes_in(cell: str) -> int:
    """Memory in a TRES text, or a size such as 64G. Raises ValueError."""
    text = _entries(cell).get("mem", "0") if "=" in cell else cell.strip()
    found = _SIZE.fullmatch(text)
    if found is None:
        raise ValueError("which is not a size of memory like 64G")
    value = decimal_number(found["number"]) * _UNITS[found["unit"].upper()]
    if value > MOST_DEMAND:
        raise ValueError(f"which is beyond {MOST_DEMAND:,} bytes")
    return int(value.to_integral_value(ROUND_CEILING))


@lru_cache(maxsize=_CACHED)
def _entries(text: str) -> Mapping[str, str]:
    """Amounts by lower-case name. Raises ValueError."""
    found: dict[str, str] = {}
    for part in text.strip().split(","):
        name, equals, amount = part.partition("=")
        if not equals or not name.strip():
            raise ValueError("which is not a list like cpu=8,gres/gpu=2,mem=64G")
        found[name.strip().lower()] = amount.strip()
    return found


def _split_gres(text: str) -> list[str]:
    """Parts between commas that are outside of brackets: `gpu:2(S:0,1),mps:100`."""
    return re.findall(r"(?:[^,(]|\([^)]*\)?)+", text)
