"""Waiting for other workers: what takes long is said, and what is waited for."""

from __future__ import annotations

import logging

from motet.aggregation.agent.gradient_service import Pending

_LOG = logging.getLogger("motet.torch")
_FIRST_WORD_S = 30.0


def wait_for(pending: Pending, what: str) -> None:
    """Wait, however long it takes; after half a minute, and then ever more seldom, log a warning.

    `what`: as in "the mean gradient of 'fc.weight'".
    """
    waited_s, next_s = 0.0, _FIRST_WORD_S
    while True:
        try:
            pending.wait(next_s)
            return
        except TimeoutError:
            waited_s += next_s
            _LOG.warning(
                "%s has not come for %.0f s: another worker is slow, stopped, or does not train "
                "the same parameters",
                what,
                waited_s,
            )
            next_s *= 2
