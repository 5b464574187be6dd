"""The backend `motet` of torch.distributed, for programs that use DistributedDataParallel.

PyTorch calls `register` when it is imported (entry point `torch.backends`), so that

    torch.distributed.init_process_group("motet")

needs no import of Motet.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from motet.torch.distributed.process_group import MotetProcessGroup

NAME = "motet"


def register() -> None:
    """Make the backend known to torch.distributed."""
    from torch import distributed

    if distributed.is_available() and NAME not in distributed.Backend.backend_list:
        distributed.Backend.register_backend(NAME, _process_group, devices=["cpu", "cuda"])


def _process_group(store: Any, rank: int, workers: int, timeout: timedelta) -> MotetProcessGroup:
    from motet.torch.discovery import service_of_environment
    from motet.torch.distributed.process_group import MotetProcessGroup, name_of_group

    job = name_of_group(store, rank)
    service = service_of_environment(job=job, rank=rank, workers=workers)
    return MotetProcessGroup(service, rank, workers, timeout)
