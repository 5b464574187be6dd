"""How many examples a property test draws under the chosen hypothesis profile."""

from __future__ import annotations

from hypothesis import settings

FULL_EXAMPLES = 100
FAST_EXAMPLES = 12
FEWEST_EXAMPLES = 5


def examples(full: int) -> int:
    """All `full` examples under the profile `soak`; 12 %, and at least 5, under `fast`."""
    scaled = full * settings().max_examples // FULL_EXAMPLES
    return min(full, max(FEWEST_EXAMPLES, scaled))
