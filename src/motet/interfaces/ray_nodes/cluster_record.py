"""What a server writes down of its Ray cluster, so that machines with its state folder can join."""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

from motet.domain.errors import BadInput
from motet.transport.secret_file import require_private_file

_RECORD, _TOKEN, _TABLES = "ray.json", "ray-token", "ray-tables"
_TOKEN_BYTES = 32


@dataclass(frozen=True)
class RayClusterRecord:
    """`address`: HOST:PORT of the head. `pid`, `started_s`: of its process on that machine."""

    address: str
    pid: int
    started_s: float

    @classmethod
    def read(cls, folder: Path) -> Self | None:
        """None: the server with this state folder has started no cluster. Raises BadInput."""
        path = folder / _RECORD
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            return cls(str(found["address"]), int(found["pid"]), float(found["started_s"]))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise BadInput(f"{path}: cannot be read ({error.strerror})") from error
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise BadInput(f"{path}: damaged; delete it, and start the server again") from error

    def write(self, folder: Path) -> None:
        """Replace what was there."""
        temporary = folder / f".{_RECORD}.{os.getpid()}"
        temporary.write_text(json.dumps(asdict(self)), encoding="utf-8")
        temporary.replace(folder / _RECORD)


def node_environment(folder: Path) -> dict[str, str]:
    """Variables of all processes that join the cluster of a state folder. Raises BadInput.

    The head keeps its tables in the folder and finds them there when it is started again.
    """
    token = folder / _TOKEN
    require_private_file(token, "Ray's token", ", with which they can run code as you", "")
    return {
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN_PATH": str(token),
        "RAY_gcs_storage": "rocksdb",
        "RAY_gcs_storage_path": str(folder / _TABLES),
        "RAY_worker_niceness": "0",
        "RAY_USAGE_STATS_ENABLED": "0",
    }


def make_token(folder: Path) -> None:
    """Create the token of the cluster unless there is one."""
    temporary = folder / f".{_TOKEN}.{os.getpid()}"
    temporary.unlink(missing_ok=True)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with open(descriptor, "w", encoding="ascii") as file:
            file.write(secrets.token_hex(_TOKEN_BYTES))
        if not (folder / _TOKEN).exists():
            os.link(temporary, folder / _TOKEN)
    finally:
        temporary.unlink()
