"""Makes the examples of property tests independent of what else a process has run."""

from __future__ import annotations

from hypothesis.internal.conjecture import providers


def draw_no_constants_of_modules() -> None:
    """Draw none of the constants that Hypothesis reads from the sources of all loaded modules.

    Else a derandomized test draws other examples after other tests, which load other modules, and
    every process parses the whole source tree. Hypothesis has no setting for it.
    """
    none = providers.Constants()
    providers._get_local_constants = lambda: none
