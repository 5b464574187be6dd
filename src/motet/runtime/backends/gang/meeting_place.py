"""The folder in which the members of a gang find its controller."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import NamedTuple

from motet.domain.errors import BadInput
from motet.runtime.backends.gang.member import ANNOUNCED, OVER, has_controller
from motet.transport import Endpoint, read_secret, write_secret

_SECRET = "secret"
_LOOK_EVERY_S = 0.02


class ControllerAddress(NamedTuple):
    """Where the controller listens, and the secret of the gang."""

    endpoint: Endpoint
    secret: bytes


class MeetingPlace:
    """A folder that all members can read, and only their user."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def open(self, address: ControllerAddress) -> None:
        """Announce the controller. Raises BadInput if the folder has had one before."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_secret(self._folder / _SECRET, address.secret)
        temporary = self._folder / f".{ANNOUNCED}.{os.getpid()}"
        temporary.write_text(address.endpoint.encode(), encoding="utf-8")
        temporary.replace(self._folder / ANNOUNCED)

    def close(self) -> None:
        """Announce the end of the gang, whose secret has no use any more; it may never have had a
        controller."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        (self._folder / OVER).touch(mode=0o600)
        (self._folder / _SECRET).unlink(missing_ok=True)

    def await_controller(self) -> ControllerAddress | None:
        """Where the controller is, as soon as it has announced itself; None: the gang has ended.

        Raises BadInput if others can read the secret.
        """
        while not self._is_over:
            if not has_controller(self._folder):
                time.sleep(_LOOK_EVERY_S)
                continue
            try:
                return self._address()
            except BadInput:
                if not self._is_over:  # The gang has not ended in this moment.
                    raise
        return None

    def _address(self) -> ControllerAddress:
        endpoint = Endpoint.decode((self._folder / ANNOUNCED).read_text(encoding="utf-8"))
        return ControllerAddress(endpoint, read_secret(self._folder / _SECRET))

    @property
    def _is_over(self) -> bool:
        return (self._folder / OVER).exists()
