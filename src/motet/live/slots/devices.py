"""The GPUs of machines, and which of them each job holds. Pure.

The engine counts slots; which GPU a slot is matters to processes alone. So the master chooses
devices when an attempt begins, from what the journal holds, and finds the same ones in a replay.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from motet.domain.errors import BadInput
from motet.domain.snapshot import Placement

Devices = tuple[str, ...]
"""GPUs as CUDA_VISIBLE_DEVICES names them, by index or UUID; empty: slots are not GPUs."""


def devices_text(devices: Devices) -> str:
    """`0,1`, as CUDA_VISIBLE_DEVICES and the journal have it."""
    return ",".join(devices)


def devices_of(text: str) -> Devices:
    """The devices of `0,1`."""
    return tuple(text.split(",")) if text else ()


def divided_devices(slots: Sequence[int], devices: Devices, *, are_given: bool) -> tuple[str, ...]:
    """GPUs of machines with these slots, in order, as text; empty if there are fewer than slots.

    Raises BadInput for too few of them if `are_given` by a user.
    """
    if len(devices) < sum(slots) or not devices:
        if are_given and devices:
            raise BadInput(
                f"--gpus {devices_text(devices)}: {len(devices)} GPUs for {sum(slots)} slots; give "
                "one for each slot, or --gpus none for slots that are CPUs"
            )
        return ()
    starts = [sum(slots[:number]) for number in range(len(slots))]
    return tuple(
        devices_text(devices[start : start + count])
        for start, count in zip(starts, slots, strict=True)
    )


class HeldDevices:
    """The devices that jobs hold, by machine."""

    def __init__(self) -> None:
        self._held: dict[int, dict[int, Devices]] = {}

    def take(
        self, job: int, placement: Placement, devices: Sequence[Devices], partners: Iterable[int]
    ) -> tuple[Devices, ...]:
        """Those that the job holds from now on, per machine of the placement.

        `devices`: of each of these machines. A job holds the same ones as its `partners`, which
        share its slots; otherwise those that the fewest jobs hold, the first ones.
        """
        sharing = list(partners)
        taken = []
        for machine, count, all_of_it in zip(*placement, devices, strict=True):
            holders = self._held.setdefault(machine, {})
            found = [holders[each] for each in sharing if len(holders.get(each, ())) == count]
            holders[job] = found[0] if found and all_of_it else _idlest(all_of_it, count, holders)
            taken.append(holders[job])
        return tuple(taken)

    def give_back(self, job: int, placement: Placement) -> None:
        """The job holds nothing on the machines of this placement."""
        for machine in placement.machines:
            self._held.get(machine, {}).pop(job, None)


def _idlest(devices: Devices, count: int, holders: dict[int, Devices]) -> Devices:
    uses = Counter(each for held in holders.values() for each in held)
    order = sorted(range(len(devices)), key=lambda place: (uses[devices[place]], place))
    return tuple(devices[place] for place in sorted(order[:count]))
