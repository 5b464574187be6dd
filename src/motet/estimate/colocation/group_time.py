"""The time of a group iteration and the utilisation of CPU and network (Harmony).

Source: W.-Y. Lee, dissertation, section 4.3.2. The jobs of a group share machines; on each machine
one COMP and one primary COMM run at a time. With T_cpu = COMP and T_net = COMM seconds of a job:

    T_group = max(sum T_cpu, sum T_net, max (T_cpu + T_net))        (eq. 4.1)
    U(g)    = [sum T_cpu / T_group, sum T_net / T_group]            (eq. 4.3)
    U       = sum m_g U(g) / sum m_g, with m_g machines of group g  (eq. 4.4)

Eq. 4.1 is exact for jobs that alternate one COMP and one COMM in first-in-first-out order: each job
then follows the same job on both resources, and every cycle of dependencies over several jobs is
at most as long as the longer of both sums. Separate PULL and PUSH subtasks need at least T_group.

Departure: work without a token. A worker encodes and decodes messages, and servers add up and send,
while no token is held. On a machine with a core beside that of COMP it delays nothing. Where all
processes of the jobs share one core, it does: in T_group seconds the core has T_group seconds to
give, and a job takes T_cpu of COMP and T_out of CPU outside of COMP, so the first term is

    sum (T_cpu + T_out)

and in eq. 4.3 the CPU is used for as long. T_out is measured: the CPU time of a job's process in an
iteration, less COMP; like T_net it does not depend on the number of machines. It is 0 where the
machine has more cores, which is eq. 4.1. In the last term T_out is a part of T_net, for which it is
waited, or runs beside it.

Departure: gaps. Between its subtasks a job waits for its slowest worker, its servers and its
controller, and its messages are encoded and decoded. In these T_gap seconds of an iteration it
needs no token, so others use the machines, and only the job itself is late:

    T_j = max(T_group, T_cpu_j + T_net_j + T_gap_j)

T_gap is measured: the time from one iteration to the next, less COMP, COMM and the waits for
tokens. 0 gives eq. 4.1.

Departure: asynchronous jobs. A worker that neither waits for others nor for its own updates sends
and receives beside COMP of the next mini-batch (section 4.5 names it). Such a job is in no queue
for one resource because of the other, so in the last term it counts with

    max(T_cpu, T_net)

in place of T_cpu + T_net. Where all jobs of a group overlap, T_group is the longer one of both
sums.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from typing import NamedTuple

from numba import njit

CPU_WEIGHT = 0.7
"""Weight of the CPU in a scalar utilisation; the source weighs it above 1/2 without a number."""


class SubtaskTimes(NamedTuple):
    """Seconds of COMP and of COMM (PULL and PUSH) in one iteration of a job; `outside_s`: of the
    core of COMP, outside of it; 0 where the machine has other cores for that. `gap_s`: in which the
    job neither computes nor communicates nor waits for a token. `overlaps`: COMM runs beside COMP,
    in asynchronous training.
    """

    comp_s: float
    comm_s: float
    outside_s: float = 0.0
    gap_s: float = 0.0
    overlaps: bool = False

    @property
    def cpu_s(self) -> float:
        """Seconds for which the core of COMP is in use."""
        return self.comp_s + self.outside_s

    @property
    def iteration_s(self) -> float:
        """T_itr: the time of an iteration without other jobs, with the gap."""
        return own_term_s(self.comp_s, self.comm_s, self.overlaps) + self.gap_s

    def slowed(self, computing: float, communicating: float) -> SubtaskTimes:
        """With these factors on the times of the CPU and of COMM."""
        return self._replace(
            comp_s=self.comp_s * computing,
            comm_s=self.comm_s * communicating,
            outside_s=self.outside_s * computing,
        )

    @property
    def imbalance_s(self) -> float:
        """T_diff: above 0 for a job that computes longer than it communicates."""
        return self.cpu_s - self.comm_s


class GroupBound(Enum):
    """The largest term of eq. 4.1; CPU and network before a job where terms are equal."""

    CPU = "cpu"
    NETWORK = "network"
    JOB = "job"


class Utilisation(NamedTuple):
    """Fractions of the time, 0 to 1, in which the CPU and the network are in use."""

    cpu: float
    network: float

    def scalar(self, cpu_weight: float = CPU_WEIGHT) -> float:
        """One number by which groupings are compared; `cpu_weight`: 0.5 to 1."""
        return cpu_weight * self.cpu + (1 - cpu_weight) * self.network


@njit(cache=True)
def own_term_s(comp_s: float, comm_s: float, overlaps: bool) -> float:
    """The part of a job in the last term of eq. 4.1."""
    return max(comp_s, comm_s) if overlaps else comp_s + comm_s


@njit(cache=True)
def longest_term_s(cpu_sum_s: float, comm_sum_s: float, longest_job_s: float) -> float:
    """Eq. 4.1 from its three terms."""
    return max(cpu_sum_s, comm_sum_s, longest_job_s)


def group_iteration_s(jobs: Sequence[SubtaskTimes]) -> float:
    """T_group: the time in which every job of the group finishes an iteration; 0 without jobs."""
    return longest_term_s(*_terms_s(jobs))


def job_iteration_s(job: SubtaskTimes, group: Sequence[SubtaskTimes]) -> float:
    """T_j: the time in which a job finishes an iteration beside the others of its group, to which
    it belongs."""
    return max(group_iteration_s(group), job.iteration_s)


def bound_of(jobs: Sequence[SubtaskTimes]) -> GroupBound:
    """What limits the group: the CPU, the network or its longest job."""
    terms = dict(zip(GroupBound, _terms_s(jobs), strict=True))
    return max(terms, key=terms.__getitem__)


def utilisation_of(jobs: Sequence[SubtaskTimes]) -> Utilisation:
    """U(g) of the machines of a group; 0 for a group without work."""
    cpu_s, comm_s, _ = _terms_s(jobs)
    group_s = group_iteration_s(jobs)
    return Utilisation(cpu_s / group_s, comm_s / group_s) if group_s else Utilisation(0.0, 0.0)


def cluster_utilisation(groups: Iterable[tuple[int, Utilisation]]) -> Utilisation:
    """U of a cluster from pairs (machines, utilisation); idle machines are a group of use 0."""
    listed = list(groups)
    machines = sum(count for count, _ in listed)
    if not machines:
        return Utilisation(0.0, 0.0)
    cpu = sum(count * use.cpu for count, use in listed)
    network = sum(count * use.network for count, use in listed)
    return Utilisation(cpu / machines, network / machines)


def _terms_s(jobs: Sequence[SubtaskTimes]) -> tuple[float, float, float]:
    return (
        float(sum(job.cpu_s for job in jobs)),
        float(sum(job.comm_s for job in jobs)),
        float(max((own_term_s(*job[:2], job.overlaps) for job in jobs), default=0.0)),
    )
