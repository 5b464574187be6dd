"""Renders a known workload as sacct prints it, with steps, arrays, requeues and components.

The layout is that of `sacct --parsable2` in sacct(1) of Slurm 25.11: a record per job and step,
times in the zone of the cluster, `Unknown` and `None` for times that did not happen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo

FIELDS = (
    *("JobID", "JobName", "User", "Partition", "State", "Submit", "Start", "End", "Elapsed"),
    *("AllocTRES", "ReqTRES", "Restarts"),
)
BEGIN = datetime(2024, 2, 28, 22, 0)


@dataclass(frozen=True)
class RenderedJob:
    """`submit_s`: after BEGIN. `runs_s`: seconds of each run; all but the last were preempted.

    `components`: GPUs of every component of a heterogeneous job; one: a usual job.
    """

    id: str
    submit_s: int
    runs_s: tuple[int, ...]
    components: tuple[int, ...]
    user: str = "ann"
    queue: str = "gpu"
    state: str = "COMPLETED"
    wait_s: int = 60
    has_steps: bool = True

    @property
    def duration_s(self) -> int:
        return sum(self.runs_s)

    @property
    def gpus(self) -> int:
        return sum(self.components)


def elapsed_text(seconds: int) -> str:
    days, rest = divmod(seconds, 86_400)
    clock = f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
    return f"{days}-{clock}" if days else clock


def rendered(
    jobs: Sequence[RenderedJob],
    fields: Sequence[str] = FIELDS,
    *,
    zone: tzinfo,
    ends_lines: bool = False,
    delimiter: str = "|",
) -> str:
    """The output; `ends_lines`: of --parsable, with a delimiter at the end of every line."""
    end = delimiter if ends_lines else ""
    rows = [dict(zip(FIELDS, FIELDS, strict=True))]
    rows += [row for job in jobs for row in _records(job, zone)]
    return "".join(delimiter.join(row[field] for field in fields) + end + "\n" for row in rows)


def _records(job: RenderedJob, zone: tzinfo) -> list[dict[str, str]]:
    found = []
    for offset, gpus in enumerate(job.components):
        submit_s = job.submit_s
        job_id = f"{job.id}+{offset}" if len(job.components) > 1 else job.id
        for number, ran_s in enumerate(job.runs_s):
            start_s = submit_s + job.wait_s
            is_last = number + 1 == len(job.runs_s)
            row = {
                "JobID": job_id,
                "JobName": "train",
                "User": job.user,
                "Partition": job.queue,
                "State": job.state if is_last else "PREEMPTED",
                "Submit": _time(submit_s, zone),
                "Start": _time(start_s, zone),
                "End": _time(start_s + ran_s, zone),
                "Elapsed": elapsed_text(ran_s),
                "AllocTRES": f"billing=8,cpu=8,gres/gpu:a100={gpus},gres/gpu={gpus},mem=8G,node=1",
                "ReqTRES": f"billing=8,cpu=8,gres/gpu={gpus},mem=8G,node=1",
                "Restarts": str(number),
            }
            found += [row, *_steps(row)] if job.has_steps else [row]
            submit_s = start_s + ran_s
    return found


def _steps(row: dict[str, str]) -> list[dict[str, str]]:
    own = {"User": "", "Partition": "", "ReqTRES": "", "Submit": row["Start"]}
    names = ("batch", "extern", "0")
    return [row | own | {"JobID": f"{row['JobID']}.{name}", "JobName": name} for name in names]


def _time(after_s: int, zone: tzinfo) -> str:
    moment = BEGIN.replace(tzinfo=zone).astimezone(zone) + timedelta(seconds=after_s)
    return moment.strftime("%Y-%m-%dT%H:%M:%S")
