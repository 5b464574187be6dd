"""Readers of job traces: recognise, check and sort them into a `Workload`."""

from motet.sim.traces.reading import FORMATS, read_trace
from motet.sim.traces.trace import Trace

__all__ = ["FORMATS", "Trace", "read_trace"]
