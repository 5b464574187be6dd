"""Jobs that propose their own size: the columns that follow from the latest proposal. Pure.

While such a job waits, its request is its minimum; while it runs, what it holds. So a policy that
does not resize jobs leaves it alone, and starts it as soon as the minimum fits. Policies that do
resize jobs choose between the minimum and the proposal. What it holds beyond a smaller proposal
stays permitted until the engine has taken it away.
"""

from __future__ import annotations

from collections.abc import Mapping

TAKES_PROPOSALS = "takes_proposals"
PROPOSAL_COLUMNS: Mapping[str, int] = {
    TAKES_PROPOSALS: 0,
    "proposed_workers": 0,
    "proposed_servers": 0,
}
"""`takes_proposals`: 1 for a job that proposes its size; `proposed_...`: the latest proposal, the
minimum before the first one."""


def sized_columns(row: Mapping[str, int]) -> dict[str, int]:
    """The columns of the request and its limits. `row`: all columns of the job."""
    runs = row["held_gpus"] > 0
    columns: dict[str, int] = {}
    for role in ("workers", "servers"):
        least, held, proposed = row[f"min_{role}"], row[f"held_{role}"], row[f"proposed_{role}"]
        columns[role] = held if runs else least
        columns[f"max_{role}"] = max(proposed, held) if runs else proposed
    gpus = columns["workers"] * row["worker_gpus"] + columns["servers"] * row["server_gpus"]
    columns["gpus"] = gpus
    for demand in ("cpus", "memory_bytes"):  # The same for each of its GPUs.
        columns[demand] = row[demand] * gpus // row["gpus"]
    return columns
