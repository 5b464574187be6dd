"""Which machines of a cluster take processes beside jobs."""

from __future__ import annotations

from motet.live.master.state import LiveState


def open_machines(state: LiveState) -> list[str]:
    """Machines that take processes, those with the most slots first."""
    if state.cluster is None:
        return []
    names = [
        (-slots, name)
        for name, slots, condition in zip(
            state.cluster.names, state.cluster.slots, state.conditions, strict=True
        )
        if condition == "up" and not state.drains.has_begun(name)
    ]
    return [name for _, name in sorted(names)]
