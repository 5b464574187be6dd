"""The engine's own columns of every job."""

from __future__ import annotations

from motet.domain.snapshot import UNKNOWN
from motet.domain.wait import Wait
from motet.engine.state.proposed_sizes import PROPOSAL_COLUMNS
from motet.engine.state.sharing import SHARED_SET

WAITED_COLUMNS = tuple(f"waited_{code.key}_us" for code in Wait)
"""Time without GPUs by reason, in the order of the codes."""
ENGINE_COLUMNS = {
    "preemptions": 0,
    "migrations": 0,
    "rescales": 0,
    "wait_code": 0,
    "not_before_us": 0,
    "running_since_us": UNKNOWN,
    "preempted_us": UNKNOWN,
    SHARED_SET: UNKNOWN,
    **PROPOSAL_COLUMNS,
    **dict.fromkeys(WAITED_COLUMNS, 0),
}
"""Columns of the engine beside those of `JobTable`: counts of preemptions, moves and resizes, the
reason of the present wait, the time before which it may not start, the time at which the driver
executed its last start (UNKNOWN while that is pending), that of its last preemption, the set of
jobs that share its GPUs, the size that it proposed, and the total waiting time by reason."""
