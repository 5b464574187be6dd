"""The input of `simulate` and `trace describe`: a log of jobs, or a workload drawn from a seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from motet.domain.errors import BadInput
from motet.sim.generate.named import drawn_trace, is_drawn
from motet.sim.known_names import WORKLOAD_NAMES
from motet.sim.traces import Trace, read_trace
from motet.sim.traces.options import parse_columns


@dataclass(frozen=True)
class TraceFlags:
    """The options of the trace. `trace`: a file, or the name of a drawn workload."""

    trace: Path
    format_name: str | None
    throughputs: Path | None
    column_texts: tuple[str, ...]
    timezone: str | None
    encoding: str | None
    time_format: str | None
    skip_bad_rows: bool

    @property
    def is_drawn(self) -> bool:
        """Whether the trace is a drawn workload instead of a file."""
        return is_drawn(str(self.trace))


def traces(
    flags: TraceFlags, gpu_count: int | None, seeds: Sequence[int], option: str = ""
) -> Mapping[int, Trace]:
    """The trace for each seed; the same one for all seeds if it is a file.

    `gpu_count`: of the cluster, if there is one. `option`: the beginning of messages, `--trace `.
    Raises BadInput.
    """
    if flags.is_drawn:
        tables = (flags.format_name, flags.throughputs, flags.column_texts)
        told = flags.timezone, flags.encoding, flags.time_format, flags.skip_bad_rows
        if any((*tables, *told)):
            raise BadInput(
                f"{option}{flags.trace} is not a file; --format, --throughputs, --columns, "
                "--timezone, --encoding, --time-format and --skip-bad-rows need a file"
            )
        return {seed: drawn_trace(str(flags.trace), seed) for seed in seeds}
    if not flags.trace.exists():
        raise _missing(flags.trace, option)
    trace = read_trace(
        flags.trace,
        flags.format_name,
        flags.skip_bad_rows,
        gpu_count,
        flags.throughputs,
        parse_columns(flags.column_texts),
        flags.timezone,
        flags.encoding,
        flags.time_format,
    )
    return dict.fromkeys(seeds, trace)


def _missing(trace: Path, option: str) -> BadInput:
    """The error for a missing file, with the most similar name of a workload."""
    near = get_close_matches(str(trace).lower(), WORKLOAD_NAMES, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return BadInput(
        f"{option}{trace}: no such file; {hint}built-in workloads: {', '.join(WORKLOAD_NAMES)}"
    )
