"""Names of a lender's clients: whose quota and account a client uses, and which secret it has.

The secret of a job of a live cluster follows from that of the cluster's lenders and from the job's
name, so lenders need no list of secrets.
"""

from __future__ import annotations

import hmac

_JOB = "run:"
_LABEL = b"borrower of the cluster "


def job_client(job: str) -> str:
    """The beginning of the names of a job's clients, before a '/'."""
    return f"{_JOB}{job}"


def job_of_borrower(client_id: str) -> str | None:
    """The job of a live cluster that a client names; None: it is of no cluster."""
    if not client_id.startswith(_JOB):
        return None
    return client_id.removeprefix(_JOB).partition("/")[0]


def borrower_of(client_id: str) -> str:
    """Whose memory counts together: that of all clients of a job; otherwise of each connection."""
    return client_id if (job := job_of_borrower(client_id)) is None else job_client(job)


def job_secret(secret: bytes, job: str) -> bytes:
    """`secret`: of the lenders of the cluster."""
    return hmac.digest(secret, _LABEL + job.encode(), "sha256")
