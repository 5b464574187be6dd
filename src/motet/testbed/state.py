"""The state of a testbed between commands: one JSON file, replaced atomically."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from motet.domain.errors import MotetError, NotFound
from motet.testbed.hosts import Blueprint, Host, Limits
from motet.testbed.layout import HOME, HostLayout

VERSION = 2
LOCK_TIMEOUT_S = 180.0
_PAUSE_S = 0.05


@dataclass(frozen=True)
class State:
    """The specification. `is_complete`: False during `up`, and after an interrupted `up`."""

    blueprint: Blueprint
    is_complete: bool

    def encode(self) -> str:
        """Encode as the file's text."""
        fields = {"version": VERSION, "is_complete": self.is_complete}
        return json.dumps(fields | asdict(self.blueprint), indent=1) + "\n"

    @classmethod
    def decode(cls, text: str) -> State:
        """Decode the file's text. Raises ValueError, KeyError or TypeError."""
        fields = json.loads(text)
        if fields["version"] != VERSION:
            raise ValueError(f"version {fields['version']}, this Motet writes {VERSION}")
        machines = tuple(
            Host(it["number"], it["name"], Limits(**it["limits"]), it["kind"])
            for it in fields["machines"]
        )
        blueprint = Blueprint(
            fields["name"], machines, fields["with_ray"], fields["object_store_bytes"]
        )
        return cls(blueprint, fields["is_complete"])


def write_state(layout: HostLayout, state: State) -> None:
    """Replace the state file."""
    draft = layout.state_file.with_suffix(".new")
    draft.write_text(state.encode(), encoding="utf-8")
    draft.replace(layout.state_file)


def read_state(layout: HostLayout) -> State:
    """Read the state file. Raises NotFound, or MotetError if it is malformed."""
    try:
        return State.decode(layout.state_file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        known = existing_testbeds(layout.home)
        others = f"existing: {', '.join(known)}" if known else "none exists"
        raise NotFound(
            f"there is no testbed {layout.name!r} ({others}); start one with 'motet testbed up'"
        ) from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise MotetError(
            f"{layout.state_file}: cannot be parsed ({error}); remove the testbed with "
            f"'motet testbed down --name {layout.name}'"
        ) from error


def existing_testbeds(home: Path = HOME) -> list[str]:
    """Return the names of all testbeds of this machine, sorted."""
    return sorted(file.parent.name for file in home.glob("*/state.json"))


@contextlib.contextmanager
def locked(layout: HostLayout, timeout_s: float = LOCK_TIMEOUT_S) -> Iterator[None]:
    """Hold the lock for changes of a testbed; the kernel releases it when the process ends.

    Locks nothing if the testbed has no folder. Raises MotetError after `timeout_s`.
    """
    try:
        descriptor = os.open(layout.folder, os.O_RDONLY | os.O_DIRECTORY)
    except FileNotFoundError:
        yield
        return
    try:
        _await_lock(descriptor, layout, time.monotonic() + timeout_s)
        os.set_inheritable(descriptor, True)  # for commands that change the testbed
        yield
    finally:
        os.close(descriptor)


def is_locked(layout: HostLayout) -> bool:
    """Whether a command is currently changing the testbed."""
    try:
        with locked(layout, timeout_s=0.0):
            return False
    except MotetError:
        return True


def _await_lock(descriptor: int, layout: HostLayout, deadline_s: float) -> None:
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline_s:
                raise MotetError(
                    f"another command is changing the testbed {layout.name!r}; wait for it or end "
                    "it, then try again"
                ) from None
            time.sleep(_PAUSE_S)
        else:
            return
