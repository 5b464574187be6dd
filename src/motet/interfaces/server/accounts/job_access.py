"""Whose jobs a caller may change, and read the logs of."""

from __future__ import annotations

import asyncio

from motet.live.accounts.roles import Caller, UserRole
from motet.live.master.loop import MasterLoop


async def require_use(master: MasterLoop, caller: Caller, number: int) -> None:
    """Raises Forbidden for a job of another user, NotFound. The user of a job never changes."""
    if caller.role is not UserRole.ADMIN:
        owner = await asyncio.wrap_future(master.read(lambda state: state.jobs_of(number)[0].user))
        caller.require_use(number, owner)
