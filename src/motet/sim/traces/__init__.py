"""Job traces of every origin as one `Workload`: recognised, checked, sorted."""

from motet.sim.traces.reading import FORMATS, read_trace
from motet.sim.traces.trace import Trace

__all__ = ["FORMATS", "Trace", "read_trace"]
