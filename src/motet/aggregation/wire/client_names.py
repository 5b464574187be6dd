"""Names of an Aggregator's clients: which secret a client has to prove, and what it may ask."""

from __future__ import annotations

import os

POOL = "pool"
"""pMaster and other Aggregators: they have the secret of the pool."""
_JOB = "job-"


def agent_name(job: int, rank: int) -> str:
    """Of the Agent of one worker."""
    return f"{_JOB}{job}/{rank}/{os.urandom(4).hex()}"


def pool_member_name() -> str:
    """Of pMaster or an Aggregator."""
    return f"{POOL}/{os.urandom(4).hex()}"


def job_of(client_id: str) -> int | None:
    """The job that a client's name says; None: it is no Agent."""
    number = client_id.partition("/")[0].removeprefix(_JOB)
    return int(number) if client_id.startswith(_JOB) and number.isdecimal() else None
