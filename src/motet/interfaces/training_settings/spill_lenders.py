"""Where a training spills to: its own disks alone, or the memory of other machines, too."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from motet.domain.errors import BadInput
from motet.remote_memory.device.lender_access import known_access
from motet.remote_memory.device.lender_addresses import known_lenders, lender_at
from motet.remote_memory.device.memory_folder import MemoryFolder, default_memory_folder
from motet.remote_memory.device.slab_size import ask_lenders
from motet.runtime.core.options import SpillLenders
from motet.transport import Endpoint, read_secret

DISK, REMOTE = "disk", "remote"


def spill_lenders(target: str | None, secret_file: Path | None) -> SpillLenders | None:
    """From `disk`, `remote` (the lenders of the live cluster that runs this training, else the one
    of this user on this machine) or addresses of lenders, separated by commas; None: the disk
    alone. `secret_file`: of the lenders; default: this user's.

    Lenders that do not answer are no error. Raises BadInput: also if their slabs differ in size.
    """
    if target in (None, DISK):
        if secret_file is not None:
            raise BadInput("spill_secret is for lenders of memory; give spill_to, too")
        return None
    folder = MemoryFolder(default_memory_folder())
    if target == REMOTE and secret_file is None:
        return _known(folder)
    lenders = known_lenders(folder) if target == REMOTE else _lenders(str(target))
    secret = folder.secret() if secret_file is None else read_secret(secret_file)
    return SpillLenders(tuple(lenders), secret, ask_lenders(lenders, secret, None).slab_bytes)


def _known(folder: MemoryFolder) -> SpillLenders:
    access = known_access(folder, os.environ)
    lenders, secret = access.lenders, access.secret
    slab_bytes = access.slab_bytes or ask_lenders(lenders, secret, None).slab_bytes
    known = SpillLenders(tuple(lenders), secret, slab_bytes)
    return known if access.client is None else replace(known, client=access.client)


def _lenders(target: str) -> list[Endpoint]:
    try:
        return [lender_at(each.strip()) for each in target.split(",")]
    except BadInput as error:
        raise BadInput(f"spill_to={target!r:.80}: {error}, or 'disk' or 'remote'") from error
