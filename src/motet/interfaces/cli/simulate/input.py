"""What `motet simulate --trace` names: a log of jobs, or a workload that every seed draws anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from motet.domain.cluster import ClusterSpec
from motet.domain.errors import BadInput
from motet.sim.generate.named import drawn_trace, is_drawn
from motet.sim.known_names import WORKLOAD_NAMES
from motet.sim.traces import Trace, read_trace


@dataclass(frozen=True)
class TraceFlags:
    """The options that say what is replayed."""

    trace: Path
    format_name: str | None
    throughputs: Path | None
    skip_bad_rows: bool

    @property
    def is_drawn(self) -> bool:
        """Whether it is a name instead of a file."""
        return is_drawn(str(self.trace))


def traces(flags: TraceFlags, cluster: ClusterSpec, seeds: Sequence[int]) -> Mapping[int, Trace]:
    """The trace of each seed. Raises BadInput."""
    if flags.is_drawn:
        if flags.format_name or flags.throughputs:
            raise BadInput(f"--trace {flags.trace} is no file; --format, --throughputs are for one")
        return {seed: drawn_trace(str(flags.trace), seed) for seed in seeds}
    if not flags.trace.exists():
        raise _missing(flags.trace)
    trace = read_trace(
        flags.trace, flags.format_name, flags.skip_bad_rows, cluster.gpu_count, flags.throughputs
    )
    return dict.fromkeys(seeds, trace)


def _missing(trace: Path) -> BadInput:
    """It may be a workload, mistyped."""
    near = get_close_matches(str(trace).lower(), WORKLOAD_NAMES, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return BadInput(
        f"--trace {trace}: no such file; {hint}drawn without one are {', '.join(WORKLOAD_NAMES)}"
    )
