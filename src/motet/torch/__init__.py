"""Motet for PyTorch: training on shared Aggregators, and checkpoints before preemptions.

The names load PyTorch on first use:

    from motet.torch import attach
    with attach(model, optimizer):
        ...  # The training loop, unchanged.

    from motet.torch import TorchCheckpoint
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from motet.torch.checkpoint import TorchCheckpoint

if TYPE_CHECKING:
    from motet.torch.attachment import Attachment, attach

__all__ = ["Attachment", "TorchCheckpoint", "attach"]


def __getattr__(name: str) -> object:
    """Import what needs PyTorch on first use (PEP 562)."""
    if name not in ("Attachment", "attach"):
        raise AttributeError(f"module 'motet.torch' has no attribute {name!r}")
    return getattr(import_module("motet.torch.attachment"), name)
