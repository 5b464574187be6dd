"""Errors that requests between the processes of a job can end with."""

from __future__ import annotations

from motet.domain.errors import JobFailed


class StaleGeneration(JobFailed):
    """The job was reset (an executor was lost) while this request was under way."""


class BadMessage(JobFailed):
    """A message between the processes of a job cannot be understood."""
