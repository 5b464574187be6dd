"""How a program finds lenders: those of its live cluster, or that of this user on this machine."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from motet.domain.errors import BadInput
from motet.remote_memory.device.lender_addresses import known_lenders
from motet.remote_memory.device.memory_folder import MemoryFolder
from motet.remote_memory.wire.borrower_names import job_client, job_secret
from motet.transport import Endpoint

ADDRESS_VARIABLE = "MOTET_MEMORY"
JOB_VARIABLE, SECRET_VARIABLE = "MOTET_MEMORY_JOB", "MOTET_MEMORY_SECRET"


@dataclass(frozen=True)
class LenderAccess:
    """`slab_bytes`: 0: unknown. `client`: the name for the lenders, None: that of the device."""

    lenders: Sequence[Endpoint]
    secret: bytes = field(repr=False)
    slab_bytes: int = 0
    client: str | None = None

    @classmethod
    def of_environment(cls, environment: Mapping[str, str]) -> Self | None:
        """As a live cluster gives it to its jobs; None: the process is of no such job.

        Raises BadInput.
        """
        path, job = environment.get(ADDRESS_VARIABLE), environment.get(JOB_VARIABLE)
        if not path or job is None:
            return None
        try:
            secret = bytes.fromhex(environment.get(SECRET_VARIABLE, ""))
        except ValueError:
            raise BadInput(
                f"{SECRET_VARIABLE} in the environment is no secret; leave the variables of "
                "'motet server' as they are"
            ) from None
        slab_bytes, lenders = read_lenders(Path(path))
        return cls(lenders, secret, slab_bytes, job_client(job))


def known_access(folder: MemoryFolder, environment: Mapping[str, str]) -> LenderAccess:
    """That of the live cluster's job, or of this user. Raises BadInput."""
    found = LenderAccess.of_environment(environment)
    return found or LenderAccess(known_lenders(folder), folder.secret())


def job_variables(address: Path, secret: bytes, job: str) -> dict[str, str]:
    """The inverse of `of_environment`. `secret`: of the cluster's lenders."""
    return {
        ADDRESS_VARIABLE: str(address),
        JOB_VARIABLE: job,
        SECRET_VARIABLE: job_secret(secret, job).hex(),
    }


def lenders_text(slab_bytes: int, lenders: Sequence[Endpoint]) -> str:
    """The content of an address file."""
    return json.dumps({"slab_bytes": slab_bytes, "lenders": [each.encode() for each in lenders]})


def read_lenders(path: Path) -> tuple[int, list[Endpoint]]:
    """Size of slabs, and lenders; none without a file. Raises BadInput."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return int(found["slab_bytes"]), [*map(Endpoint.decode, found["lenders"])]
    except FileNotFoundError:
        return 0, []
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadInput(f"{path}: not the addresses of a cluster's lenders: {error}") from error
