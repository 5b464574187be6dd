"""Colours of terminals and figures: a job has the same colour in both.

The hues have a medium luminance, readable on black and on white, and can be distinguished without
seeing red or green.
"""

from __future__ import annotations

JOB_COLOURS = (
    "#3f8efc",
    "#f28e2b",
    "#1fa187",
    "#c45baa",
    "#8a7ff0",
    "#b8952e",
    "#e15759",
    "#5aa5a8",
)
INK = "#24292f"
QUIET_INK = "#6e7781"
GRID = "#e4e8ec"
REFERENCE = "#6e7781"
FADED = "#d0d7de"
"""Lines behind a highlighted one."""

QUIET_STYLE = "bright_black"


def job_colour(position: int) -> str:
    """The colour of the job at `position` in a list; after the last colour the first follows."""
    return JOB_COLOURS[position % len(JOB_COLOURS)]
