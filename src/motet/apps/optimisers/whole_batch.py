"""The check of applications in which every step needs the whole data set."""

from __future__ import annotations

from motet.domain.errors import BadArgument
from motet.runtime.core.application import Step


def require_whole_batch(step: Step, name: str) -> None:
    """Raise BadInput if an epoch has more than one mini-batch."""
    if step.batch_count != 1:
        raise BadArgument(
            f"{name}: every step needs the whole data set, but an epoch has {step.batch_count} "
            "mini-batches; leave worker_batch_size out"
        )
