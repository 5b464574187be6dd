"""How everything that belongs to a testbed is called: nothing else on the machine has such names.

What `down` removes is found by these names alone, so it also finds what a crash has left.
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
class Layout:
    """Names, addresses and paths of the testbed `name`."""

    name: str
    home: Path = HOME

    @property
    def folder(self) -> Path:
        """Holds all files of the testbed."""
        return self.home / self.name

    @property
    def state_file(self) -> Path:
        """What was asked for and how far it has come."""
        return self.folder / "state.json"

    @property
    def token_file(self) -> Path:
        """Ray's token, for its owner's eyes only."""
        return self.folder / "token"

    @property
    def ray_folder(self) -> Path:
        """Where every host sees its own `ray_folder_of`."""
        return self.folder / "ray"

    def ray_folder_of(self, host: Host) -> Path:
        """Ray's files of one host: nodes that share a folder collide on their sockets."""
        return self.folder / f"ray.{host.name}"

    def log_file_of(self, host: Host) -> Path:
        """What starting Ray on the host has printed."""
        return self.folder / f"{host.name}.log"

    @property
    def switch(self) -> str:
        """Network namespace of the bridge, which so meets no firewall rule of the machine's."""
        return self._label(SWITCH)

    def label_of(self, host: Host) -> str:
        """The host's network namespace and its control groups are called so."""
        return self._label("front" if host.is_front else str(host.number))

    def address_of(self, host: Host) -> str:
        """Its address on the private network, which no other testbed and no machine shares."""
        return f"10.77.0.{_FRONT_ADDRESS if host.is_front else host.number + 1}"

    def port_of(self, host: Host) -> str:
        """The switch's end of the host's link."""
        return "front" if host.is_front else f"m{host.number}"

    @property
    def head_address(self) -> str:
        """Where Ray's head listens."""
        return f"10.77.0.{_FRONT_ADDRESS}:{HEAD_PORT}"

    def is_ours(self, label: str) -> bool:
        """Whether a namespace or control group of that name belongs to this testbed."""
        return label.startswith(self._label(""))

    def ours(self, labels: Iterable[str]) -> list[str]:
        """Those of the labels that belong to this testbed, sorted."""
        return sorted(filter(self.is_ours, labels))

    def _label(self, part: str) -> str:
        # A testbed's name has no dot in it, so that none is the beginning of another's label.
        return f"motet-{self.name}.{part}"
