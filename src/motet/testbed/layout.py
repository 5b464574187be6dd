"""Names, addresses and paths of a testbed. No other software on the machine uses these names.

`down` finds everything to remove by these names, including remains of a crash.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from motet.testbed.hosts import Host

HOME = Path("/run/motet")
SWITCH = "switch"
_FRONT_ADDRESS = 254
HEAD_PORT = 6379


@dataclass(frozen=True)
class HostLayout:
    """Names, addresses and paths of the testbed `name`."""

    name: str
    home: Path = HOME

    @property
    def folder(self) -> Path:
        """The folder with all files of the testbed."""
        return self.home / self.name

    @property
    def state_file(self) -> Path:
        """The testbed's specification and progress."""
        return self.folder / "state.json"

    @property
    def token_file(self) -> Path:
        """Ray's token; only its owner can read it."""
        return self.folder / "token"

    @property
    def ray_folder(self) -> Path:
        """The path at which every host mounts its own `ray_folder_of`."""
        return self.folder / "ray"

    def ray_folder_of(self, host: Host) -> Path:
        """Return the folder of one host's Ray files: the sockets of nodes in one folder collide."""
        return self.folder / f"ray.{host.name}"

    def log_file_of(self, host: Host) -> Path:
        """Return the log of starting Ray on the host."""
        return self.folder / f"{host.name}.log"

    @property
    def switch(self) -> str:
        """Network namespace of the bridge; the machine's firewall rules do not apply in it."""
        return self._label(SWITCH)

    def label_of(self, host: Host) -> str:
        """Return the name of the host's network namespace and control groups."""
        return self._label("front" if host.is_front else str(host.number))

    def address_of(self, host: Host) -> str:
        """Return the host's address on the testbed's private network."""
        return f"10.77.0.{_FRONT_ADDRESS if host.is_front else host.number + 1}"

    def port_of(self, host: Host) -> str:
        """Return the name of the switch's end of the host's link."""
        return "front" if host.is_front else f"m{host.number}"

    @property
    def head_address(self) -> str:
        """Address of Ray's head."""
        return f"10.77.0.{_FRONT_ADDRESS}:{HEAD_PORT}"

    def is_ours(self, label: str) -> bool:
        """Whether a namespace or control group of that name belongs to this testbed."""
        return label.startswith(self._label(""))

    def ours(self, labels: Iterable[str]) -> list[str]:
        """Return the labels that belong to this testbed, sorted."""
        return sorted(filter(self.is_ours, labels))

    def _label(self, part: str) -> str:
        # Testbed names contain no dot, so no label is a prefix of another testbed's.
        return f"motet-{self.name}.{part}"
