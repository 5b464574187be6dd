"""The arguments `trace`, `cluster` and `seed` of `motet.simulate`."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from motet.domain.cluster import ClusterSpec
from motet.domain.errors import BadInput
from motet.interfaces.simulations.frames import trace_of_frame
from motet.sim.cluster_file import open_cluster
from motet.sim.generate.named import drawn_trace, is_drawn
from motet.sim.known_names import WORKLOAD_NAMES
from motet.sim.traces import Trace, read_trace
from motet.sim.traces.writing import motet_csv
from motet.sim.workload.workload import Workload

if TYPE_CHECKING:
    from pandas import DataFrame

TraceArgument: TypeAlias = "Trace | Workload | DataFrame | str | os.PathLike[str]"
ClusterArgument: TypeAlias = ClusterSpec | str | os.PathLike[str]
SeedArgument: TypeAlias = int | Iterable[int]


@dataclass(frozen=True, eq=False)
class ReplayedTrace:
    """`name`: for tables and for pairing runs. `of_seed`: a file is the same for every seed."""

    name: str
    of_seed: Mapping[int, Trace]


def open_trace_argument(trace: TraceArgument, seeds: Sequence[int]) -> ReplayedTrace:
    """Read, draw or convert the jobs. Raises BadInput."""
    if isinstance(trace, str | os.PathLike):
        return _opened(os.fspath(trace), seeds)
    if isinstance(trace, Workload):
        trace = Trace(trace, "workload", _sha256(trace))
    elif not isinstance(trace, Trace):
        trace = _of_frame(trace)
    return ReplayedTrace(f"{trace.format} {trace.sha256[:12]}", dict.fromkeys(seeds, trace))


def open_cluster_argument(cluster: ClusterArgument) -> ClusterSpec:
    """The machines. Raises BadInput."""
    if isinstance(cluster, ClusterSpec):
        return cluster
    if isinstance(cluster, str | os.PathLike):
        return open_cluster(os.fspath(cluster))
    raise BadInput(
        f"cluster={cluster!r:.60}: give 'MACHINESxGPUS', for example '15x4', or the path of a .csv "
        "or .yaml file that lists machines"
    )


def seeds_of(seed: SeedArgument) -> list[int]:
    """One seed or several. Raises BadInput."""
    found: list[Any] = list(seed) if isinstance(seed, Iterable) else [seed]
    if not found or not all(map(_is_seed, found)) or len(set(found)) < len(found):
        raise BadInput(
            f"seed={seed!r:.60}: give a whole number of at least 0, or different ones in a list"
        )
    return [int(each) for each in found]


def _opened(name: str, seeds: Sequence[int]) -> ReplayedTrace:
    """A file is preferred to a workload of the same name."""
    if is_drawn(name):
        return ReplayedTrace(name, {seed: drawn_trace(name, seed) for seed in seeds})
    if not os.path.lexists(name) and os.path.basename(name) == name and "." not in name:
        raise BadInput(
            f"trace={name!r}: neither a file nor a built-in workload; those are "
            f"{', '.join(WORKLOAD_NAMES)}"
        )
    return ReplayedTrace(os.path.abspath(name), dict.fromkeys(seeds, read_trace(name)))


def _of_frame(given: object) -> Trace:
    from pandas import DataFrame

    if isinstance(given, DataFrame):
        return trace_of_frame(given)
    raise BadInput(
        f"trace={given!r:.60}: give a path, the name of a built-in workload ('tiresias-480'), a "
        "result of load_trace, or a DataFrame with a row per job"
    )


def _is_seed(seed: object) -> bool:
    try:
        return not isinstance(seed, bool) and seed.__index__() >= 0  # type: ignore[attr-defined]
    except AttributeError:
        return False


def _sha256(workload: Workload) -> str:
    """SHA-256 of a workload that was not read from a file."""
    digest = hashlib.sha256("\n".join(workload.ids).encode())
    demands = [each for each in (workload.cpus, workload.memory_bytes) if each.any()]
    for column in (workload.submit_us, workload.duration_us, workload.gpus, *demands):
        digest.update(column.tobytes())
    if workload.work is not None:
        digest.update(motet_csv(workload).encode())
    return digest.hexdigest()
