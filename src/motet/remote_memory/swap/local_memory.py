"""What this user's lender and devices on this machine say of themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from motet.domain.errors import MotetError
from motet.remote_memory.device.device_start import device_view, lender_view
from motet.remote_memory.device.memory_folder import DevicePlace, MemoryFolder
from motet.remote_memory.swap.swap_device import swap_use
from motet.remote_memory.swap.swap_table import SwapUse
from motet.remote_memory.wire.memory_views import DeviceView, LenderView


@dataclass(frozen=True)
class LocalDevice:
    """`view`: None: it does not answer, because of `reason`. `swap`: None: it is no swap space."""

    name: str
    view: DeviceView | None
    swap: SwapUse | None
    reason: str = ""

    @classmethod
    def ask(cls, folder: MemoryFolder, place: DevicePlace) -> LocalDevice:
        """Blocks until the device answers, at most 10 s."""
        swap = swap_use(place)
        try:
            return cls(place.name, device_view(folder, place), swap)
        except MotetError as error:
            return cls(place.name, None, swap, str(error))

    def document(self) -> dict[str, Any]:
        """For JSON."""
        swap = None if self.swap is None else asdict(self.swap)
        if self.view is None:
            return {"name": self.name, "is_running": False, "reason": self.reason, "swap": swap}
        view = {**asdict(self.view), "away": list(self.view.away)}
        return {**view, "is_running": True, "swap": swap}


@dataclass(frozen=True)
class LocalMemory:
    """`lender`: None: none runs, or it does not answer, because of `lender_problem`."""

    lender: LenderView | None
    devices: Sequence[LocalDevice]
    lender_problem: str = ""

    @classmethod
    def ask(cls, folder: MemoryFolder) -> LocalMemory:
        """Ask the lender and all devices. Raises BadInput: the folder has no usable secret."""
        secret = folder.secret()
        devices = [LocalDevice.ask(folder, place) for place in folder.devices()]
        try:
            return cls(lender_view(folder.lender, secret), devices)
        except MotetError as error:
            return cls(None, devices, _problem(folder, error))

    def document(self) -> dict[str, Any]:
        """For JSON."""
        lender = None if self.lender is None else asdict(self.lender)
        devices = [each.document() for each in self.devices]
        return {"lender": lender, "lender_problem": self.lender_problem, "devices": devices}


def _problem(folder: MemoryFolder, error: MotetError) -> str:
    """Of a lender that runs; empty: there is none."""
    process = folder.lender_process()
    if process is None:
        return ""
    lender = f"the lender (process {process})" if process else "the lender"
    if not folder.lender.exists():
        return f"{lender} starts"
    return f"{lender} does not answer: {error}"
