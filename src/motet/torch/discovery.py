"""The Aggregators of the job that a process belongs to."""

from __future__ import annotations

from motet.aggregation.agent.gradient_service import GradientService
from motet.domain.errors import BadInput


def service_of_environment() -> GradientService:
    """Raises BadInput: the process is no worker of a job with Aggregators."""
    raise BadInput(
        "this process is no worker of a job with Aggregators: pass service=..., or start it with "
        "motet"
    )
