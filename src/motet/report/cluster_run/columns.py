"""Names of the columns of the CSV files of a run."""

from __future__ import annotations

JOB_COLUMNS = (
    "job_id",
    "user",
    "queue",
    "num_gpus",
    "submit_time",
    "start_time",
    "end_time",
    "jct",
    "queueing_delay",
    "preemptions",
    "promotions",
    "migrations",
    "state",
)
"""Of `jobs.csv`."""

FAIRNESS_COLUMNS = ("job_id", "duration", "ideal_time", "rho", "experiment")
"""Of `fairness.csv`. `experiment` is empty for a job alone; earlier versions did not write it."""

PLACEMENT_COLUMNS = ("job_id", "machine", "gpus", "start_time", "end_time", "shared_with")
"""Of `placements.csv`."""

TIMELINE_COLUMNS = ("time", "used_gpus", "waiting_jobs")
"""Of `timeline.csv`."""

TRAINING_COLUMNS = (
    "job_id",
    "start_time",
    "end_time",
    "workers",
    "servers",
    "first_step",
    "last_step",
    "first_loss",
    "last_loss",
)
"""Of `training.csv`."""
