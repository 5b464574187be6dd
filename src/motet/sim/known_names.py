"""Names of trace formats and workloads, without imports of their readers and generators."""

from __future__ import annotations

FORMAT_NAMES = (
    "sacct",
    "kueue",
    "table",
    "motet",
    "tiresias",
    "muri",
    "philly",
    "philly-json",
    "helios",
    "gavel",
    "swf",
)
WORKLOAD_NAMES = (
    *("tiresias-480", "helios-year", "slaq-160", "optimus-50", "themis-100"),
    *("harmony-80", "harmony-60-comp", "harmony-60-comm"),
)
