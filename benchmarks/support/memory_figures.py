"""What benchmarks of remote memory and their page share: defaults of options, names of figures."""

from __future__ import annotations

REPEAT = 3
"""Runs of each case, of which the best counts."""
PROGRAM_MB = 128
"""What an unmodified program uses, about."""
LOST = "throughput lost: "
"""The beginning of the figures of events."""
RULE = "rule: "
"""The beginning of the figures of rules in the simulation of many machines."""
SEEDS = 10
"""Simulations of 32 machines."""
NO_EVENT = f"{LOST}no event"
"""The same figure of windows in which nothing happens."""
