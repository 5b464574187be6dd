"""What lets the processes of a live cluster's job into its pool, and into no other job there.

The secret follows from that of the pool and the name of the job. So the server and pMaster know it
without a list, and it opens nothing once pMaster does not admit the job any more.
"""

from __future__ import annotations

import hmac
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

from motet.domain.errors import BadInput

JOB_VARIABLE, SECRET_VARIABLE = "MOTET_AGGREGATION_JOB", "MOTET_AGGREGATION_SECRET"
_CLIENT = "run:"
_LABEL = b"job of the cluster "


@dataclass(frozen=True)
class JobCredential:
    """`job`: of the live cluster; its jobs in the pool have this name, or begin with `job/`."""

    job: str
    secret: bytes = field(repr=False)

    @classmethod
    def derived(cls, pool_secret: bytes, job: str) -> Self:
        """That of a job in the pool with a secret."""
        return cls(job, hmac.digest(pool_secret, _LABEL + job.encode(), "sha256"))

    @classmethod
    def of_environment(cls, environment: Mapping[str, str]) -> Self | None:
        """As a live cluster gives it to its jobs; None: the process is of no such job.

        Raises BadInput.
        """
        job = environment.get(JOB_VARIABLE)
        if job is None:
            return None
        try:
            return cls(job, bytes.fromhex(environment.get(SECRET_VARIABLE, "")))
        except ValueError:
            raise BadInput(
                f"{SECRET_VARIABLE} in the environment is no secret; leave the variables of "
                "'motet server' as they are"
            ) from None

    @property
    def variables(self) -> dict[str, str]:
        """The inverse of `of_environment`."""
        return {JOB_VARIABLE: self.job, SECRET_VARIABLE: self.secret.hex()}

    def pool_job(self, name: str) -> str:
        """The name in the pool of what the program calls `name`."""
        return name if job_of_cluster(name) == self.job else f"{self.job}/{name}"

    def client_name(self) -> str:
        """Of one worker, for pMaster."""
        return f"{_CLIENT}{self.job}/{os.urandom(4).hex()}"


def job_of_cluster(pool_job: str) -> str:
    """The job of the live cluster that a job of its pool belongs to."""
    return pool_job.partition("/")[0]


def job_of_client(client_id: str) -> str | None:
    """The job of the live cluster that a client names; None: it is a command, or of no cluster."""
    if not client_id.startswith(_CLIENT):
        return None
    return job_of_cluster(client_id.removeprefix(_CLIENT))
