"""Where programs and commands find the pool of Aggregators: a file, and its secret beside it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from motet.domain.errors import BadInput, Unreachable
from motet.transport import Endpoint, read_secret

ADDRESS_VARIABLE = "MOTET_AGGREGATION"
FIRST_WORLD_SIZE = "MOTET_FIRST_WORLD_SIZE"
"""Variable of the processes of an elastic job: with how many of them its present attempt began. The
first step waits for these, although this process may have joined later."""
ADDRESS_FILE, PROGRAM_SECRET_FILE = "pool.json", "secret"


@dataclass(frozen=True)
class PoolAddress:
    """Where pMaster listens, and the secret of programs and commands."""

    endpoint: Endpoint
    secret: bytes = field(repr=False)

    @classmethod
    def read(cls, path: Path, secret: bytes | None = None) -> Self:
        """`secret`: None: that of programs and commands, from its file.

        Raises Unreachable: there is no such file. BadInput: it is no address file, or other users
        can read the secret.
        """
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            raise Unreachable(
                f"{path}: no pool of Aggregators is there; start one with 'motet aggregator start'"
            ) from None
        except (OSError, UnicodeDecodeError) as error:
            raise BadInput(f"{path}: cannot read the address of the pool: {error}") from error
        endpoint = Endpoint.decode(text)
        return cls(endpoint, secret or read_secret(path.with_name(PROGRAM_SECRET_FILE)))

    def write_endpoint(self, path: Path) -> None:
        """Write the address file, in one step; the secret is there already."""
        temporary = path.with_name(f".{path.name}.{os.getpid()}")
        temporary.write_text(self.endpoint.encode() + "\n", encoding="utf-8")
        temporary.replace(path)


def address_path(given: Path | str | None, default: Path | None = None) -> Path:
    """The given address file, that of MOTET_AGGREGATION, or the default one. Raises BadInput."""
    if given is not None:
        return Path(given)
    variable = os.environ.get(ADDRESS_VARIABLE)
    if variable:
        return Path(variable)
    if default is None:
        raise BadInput(
            f"no pool of Aggregators is known; set {ADDRESS_VARIABLE} to the address file that "
            "'motet aggregator start' shows"
        )
    return default
