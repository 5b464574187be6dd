"""Workloads of Kueue and jobs of Kubernetes, from the objects of their APIs.

The fields are those of kueue.x-k8s.io/v1beta1 and v1beta2 (`Workload`) and of batch/v1 (`Job`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from motet.domain.units import SECOND_US
from motet.sim.traces.cells import rounded_us
from motet.sim.traces.formats.kubernetes.quantities import (
    PodNeeds,
    Resources,
    needs_of_pods,
    pod_quantity,
    quantities,
    total,
)
from motet.sim.traces.problems import UNPARSABLE, BadRow
from motet.sim.traces.times.time_stamps import TimeStamps

KINDS = ("Workload", "Job")
_PAST_RUNS = ("accumulatedPastExecutionTimeSeconds", "accumulatedPastExexcutionTimeSeconds")
"""In v1beta2 and, with its misspelling, in v1beta1: seconds of runs that ended in an eviction."""

Object = Mapping[str, Any]


@dataclass(frozen=True)
class ClusterJob:
    """An object with absolute times in microseconds; None: it did not happen.

    `past_us`: time of earlier runs. `seen_us`: the latest time in the object.
    """

    id: str
    namespace: str
    queue: str
    state: str
    priority: str
    submit_us: int
    start_us: int | None
    end_us: int | None
    past_us: int
    needs: PodNeeds
    seen_us: int


class ObjectReader:
    """Reads objects. `gpu_resource`: the resource that counts as GPU; None: accelerators."""

    def __init__(self, stamps: TimeStamps, gpu_resource: str | None) -> None:
        self._stamps, self._gpu_resource = stamps, gpu_resource

    def read(self, entry: Any) -> ClusterJob:
        """Raises BadRow for an object that is no job."""
        try:
            kind = str(entry["kind"])
            if kind not in KINDS:
                wrong = f"an object of kind {kind[:40]!r}, not of {' or '.join(KINDS)}"
                raise BadRow(f"{UNPARSABLE} kind", wrong)
            return self._workload(entry) if kind == "Workload" else self._job(entry)
        except (AttributeError, IndexError, KeyError, TypeError) as error:
            missing = f" ({error.args[0]!r} is missing)" if isinstance(error, KeyError) else ""
            message = f"this is not a workload as kubectl -o json prints it{missing}"
            raise BadRow(f"{UNPARSABLE} workload", message) from None

    def _workload(self, entry: Object) -> ClusterJob:
        spec, status = entry["spec"], entry.get("status") or {}
        admission = status.get("admission") or {}
        times = self._conditions(status)
        admitted_us = times.get("Admitted", times.get("QuotaReserved"))
        end_us = times.get("Finished")
        past = next((status[name] for name in _PAST_RUNS if status.get(name)), 0)
        pods = sum(_count(each, "count") for each in spec["podSets"])
        found = self._common(entry, self._needs(_workload_resources(spec, admission), pods))
        return replace(
            found,
            queue=str(admission.get("clusterQueue") or spec.get("queueName") or ""),
            priority=str(spec.get("priority") or ""),
            state=_state(status, "Finished", admitted_us is not None),
            start_us=admitted_us,
            end_us=end_us,
            past_us=rounded_us(pod_quantity("past execution time", past) * SECOND_US),
            seen_us=max((found.submit_us, *times.values())),
        )

    def _job(self, entry: Object) -> ClusterJob:
        spec, status = entry["spec"], entry.get("status") or {}
        times = self._conditions(status)
        start_us = self._time("startTime", status)
        ends = (times.get("Complete"), times.get("Failed"))
        completed_us = self._time("completionTime", status)
        end_us = next((each for each in (completed_us, *ends) if each is not None), None)
        pods = _count(spec, "parallelism")
        found = self._common(entry, self._needs(needs_of_pods(spec["template"], pods), pods))
        ended = "Complete" if "Complete" in times else "Failed"
        known = [each for each in (start_us, end_us, *times.values()) if each is not None]
        labels = entry["metadata"].get("labels") or {}
        return replace(
            found,
            queue=str(labels.get("kueue.x-k8s.io/queue-name") or ""),
            state=_state(status, ended, start_us is not None, completed_us is not None),
            start_us=start_us,
            end_us=end_us,
            seen_us=max((found.submit_us, *known)),
        )

    def _common(self, entry: Object, needs: PodNeeds) -> ClusterJob:
        metadata = entry["metadata"]
        namespace, name = str(metadata.get("namespace") or ""), str(metadata["name"])
        submit_us = self._time("creationTimestamp", metadata)
        if submit_us is None:
            raise BadRow.unparsable("creationTimestamp", "", "and a job is submitted at this time")
        job_id = f"{namespace}/{name}" if namespace else name
        return ClusterJob(job_id, namespace, "", "", "", submit_us, None, None, 0, needs, submit_us)

    def _needs(self, resources: Resources, pods: int) -> PodNeeds:
        return PodNeeds.of(resources, pods, self._gpu_resource)

    def _conditions(self, status: Object) -> dict[str, int]:
        """The time of every condition that is true."""
        found = {}
        for condition in status.get("conditions") or ():
            if condition["status"] == "True":
                time_us = self._time("lastTransitionTime", condition)
                if time_us is not None:
                    found[str(condition["type"])] = time_us
        return found

    def _time(self, name: str, fields: Object) -> int | None:
        cell = fields.get(name)
        if cell is None:
            return None
        return _parsed(name, str(cell), self._stamps.microseconds)


def object_name(entry: Any, row: int) -> str:
    """`ml/job-1` for messages, or the place in the list, from 0, of an object without a name."""
    metadata = entry.get("metadata") if isinstance(entry, Mapping) else None
    known = metadata if isinstance(metadata, Mapping) else {}
    parts = [str(known[key])[:80] for key in ("namespace", "name") if known.get(key)]
    return "/".join(parts) or f"object {row}"


def _workload_resources(spec: Object, admission: Object) -> Resources:
    """Resources of all pods: as admitted, or else as requested."""
    assigned = {
        str(each.get("name", "main")): each for each in admission.get("podSetAssignments") or ()
    }
    parts = []
    for pods in spec["podSets"]:
        used = assigned.get(str(pods.get("name", "main")), {}).get("resourceUsage")
        parts.append(
            quantities(used) if used else needs_of_pods(pods["template"], _count(pods, "count"))
        )
    return total(parts)


def _state(status: Object, ended: str, has_started: bool, has_completed: bool = False) -> str:
    """The reason of the condition that ended the job; Complete, Running or Pending for others."""
    for condition in status.get("conditions") or ():
        if condition["type"] == ended and condition["status"] == "True":
            return str(condition.get("reason") or ended)
    if has_completed:
        return "Complete"
    return "Running" if has_started else "Pending"


def _count(fields: Object, name: str) -> int:
    value = fields.get(name)
    return 1 if value is None else _parsed(name, str(value), _small_count)


def _small_count(cell: str) -> int:
    if not (cell.isascii() and cell.isdecimal() and len(cell) <= 9):
        raise ValueError("which is not a number of pods")
    return int(cell)


def _parsed(name: str, cell: str, parse: Callable[[str], int]) -> int:
    try:
        return parse(cell)
    except ValueError as error:
        raise BadRow.unparsable(name, cell, error) from None
