"""Claims whose measurements are slow or need a testbed: from the records that are kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from support.claims import Claim, span
from support.infiniswap_claims import INFINISWAP, infiniswap_claims
from support.records import Record
from support.schedule_outcomes import PAPER
from support.spilling_page import COMPARED

NAMES = (
    "cruise_testbed",
    "cruise_solver",
    "harmony_testbed",
    "harmony_testbed_schedules",
    "harmony_grouping",
    "spilling",
    "aggregator_trace",
    "aggregation_testbed",
    "aggregation_case",
    "aggregation_step",
    "aggregation_servers",
    "aggregation_real",
    "aggregation_training",
    *INFINISWAP,
    "slaq_decisions",
    "loss_curves",
    "live_fidelity",
    "live_fidelity_testbed",
)
ONE_RUN = "one run each"


def recorded_claims(records: Mapping[str, Record]) -> dict[str, Sequence[Claim]]:
    """By system. Raises RecordMissing."""
    return {
        "[Cruise](systems/cruise.md), eight hosts": _cruise(
            records["cruise_testbed"], records["cruise_solver"]
        ),
        "[Harmony](systems/harmony.md), eight hosts": _harmony(
            records["harmony_testbed"],
            records["harmony_testbed_schedules"],
            records["harmony_grouping"],
            records["spilling"],
        ),
        "[AutoPS](systems/autops.md)": _autops(
            records["aggregator_trace"],
            records["aggregation_testbed"],
            records["aggregation_case"],
            records["aggregation_step"],
            records["aggregation_servers"],
            records["aggregation_real"],
        ),
        "[Infiniswap](systems/infiniswap.md)": infiniswap_claims(records),
        "Decisions of [SLAQ](systems/slaq.md) and [Optimus](systems/optimus.md)": _decisions(
            records["slaq_decisions"]
        ),
        "[Predictions of losses](reference/loss-curves.md)": _losses(records["loss_curves"]),
        "[Live cluster](fidelity.md)": _fidelity(
            records["live_fidelity"], records["live_fidelity_testbed"]
        ),
    }


def _cruise(testbed: Record, solver: Record) -> list[Claim]:
    command = testbed.made["command"]
    above, saved = testbed.ratios("above the best"), testbed.ratios("saved")
    took = testbed.ratios("change took")
    two_types = solver.ratio("N=32, 2 types: slowest of 20")
    return [
        Claim(
            "the chosen configuration is within 6.5 % of the best one of a grid",
            f"{span(above, percent=True, digits=1)} above it, {len(above)} cases, {ONE_RUN}",
            command,
            "Eight hosts with generated data have seven configurations; 32 machines have more, so "
            "the best one is missed more easily.",
        ),
        Claim(
            "epochs up to 58 % shorter than at first",
            f"{span(saved, percent=True)} shorter, {len(saved)} cases, {ONE_RUN}",
            command,
            "The saving depends on the first configuration; ours are the two extremes.",
        ),
        Claim(
            "4 fast machines of 32: epochs 35 to 58 % shorter than with equal shares",
            f"{testbed.measured('unlike hosts: saved')} shorter, 2 fast hosts of 8, one run",
            command,
            "A quarter of our hosts is fast, and an eighth of the paper's machines.",
        ),
        Claim(
            "twice the machines halve the epoch",
            f"{testbed.ratio('twice the hosts: epoch'):.2f} of the epoch, one run",
            command,
            "More hosts do not shorten COMM.",
        ),
        Claim(
            "a change of 4 roles and 30 moves of 100 MB takes 31.3 s",
            f"{span(took)} s for 7 to 106 MB, {len(took)} changes, {ONE_RUN}",
            command,
            "Our links have 100 Mbit/s, our data are smaller, and COMP runs under a quota of CPU "
            "during the change.",
        ),
        Claim(
            "the solver takes 37.4 s for two types and N=32, to a gap of 40 %",
            f"{1e3 * two_types:.1f} ms at most of 20 cases, the optimum",
            solver.made["command"],
            "Machines of a type are equal, so a search over numbers per type replaces Gurobi's "
            "integer program.",
        ),
    ]


def _harmony(testbed: Record, schedules: Record, grouping: Record, spilling: Record) -> list[Claim]:
    errors = testbed.ratios("error of the model for pairs")
    scheduled = grouping.ratios("8,000 jobs")
    return [
        *(
            Claim(
                f"{paper}: JCT {jct:.2f}, makespan {makespan:.2f} times better than isolated",
                f"JCT {schedules.ratio(f'{name}: JCT'):.2f}, makespan "
                f"{schedules.ratio(f'{name}: makespan'):.2f} times, one run",
                schedules.made["command"],
                WHY_SCHEDULES[name],
            )
            for name, paper in SCHEDULE_STEPS.items()
            for jct, makespan in [PAPER[name]]
        ),
        Claim(
            "regrouping takes less than 2 % of the makespan",
            f"{schedules.ratio('grouping: regrouping'):.1%} "
            f"({schedules.peer('grouping: regrouping')}), one run",
            schedules.made["command"],
            "A start took as long as such a job trains; hosts have 0.2 CPUs.",
        ),
        Claim(
            "the model errs by less than 5 %",
            f"medians of {span(errors, percent=True)} for pairs, two runs",
            "sudo python benchmarks/harmony_testbed.py --part prediction",
            "The paper's equation lacks the order in which the phases of two jobs coincide, the "
            "time between epochs, and CPU time outside of COMP.",
        ),
        Claim(
            "8,000 jobs on 10,000 machines are scheduled in 5 s",
            f"{span(scheduled, digits=2)} s, slowest of 5 instances",
            grouping.made["command"],
            "The search is compiled.",
        ),
        Claim(
            "shares of input on disk by job: iterations 16 % shorter than with the best common one",
            f"epochs {spilling.ratio(COMPARED):.2f} times as long as with the better of two",
            spilling.made["command"],
            "Three equal jobs have the same best share, so there is little to gain; on a busy "
            "machine, looks at the memory take CPU time that a fixed share does not need.",
        ),
    ]


SCHEDULE_STEPS = {
    "subtasks": "subtasks",
    "grouping": "subtasks and grouping",
    "reloading": "subtasks, grouping and reloading",
}
WHY_SCHEDULES = {
    "subtasks": "All twelve jobs start at once, each start takes twice as long as where few do, "
    "and messages have to wait for CPU time beside the COMP of another job on 0.2 CPUs.",
    "grouping": "As above, and a job that moves starts again, for a fifth of the time that it "
    "trains.",
    "reloading": "As above with twice as many moves; the load of the machine rose in this part.",
}


def _autops(
    trace: Record, testbed: Record, case: Record, step: Record, servers: Record, real: Record
) -> list[Claim]:
    saved = [trace.ratio("CPU time saved"), *trace.ratios("another draw")]
    slower = [*testbed.ratios("2 VGG19"), *testbed.ratios("VGG19, AWD-LM")]
    fewer = [1 - ratio for ratio in testbed.ratios(AGGREGATORS)]
    alone, kept = (
        span(
            [ratio for n, ratio in servers.ratios_of("") if n.endswith(f", {kind}: step")], digits=2
        )
        for kind in ("balanced", "with replicas")
    )
    models = ", ".join(n.partition(",")[0] for n, _ in servers.ratios_of("") if n.endswith(ALONE))
    return [
        Claim(
            "ten weeks of a trace: 52.7 % less CPU time",
            f"{span(saved, percent=True, digits=1)} less, three draws of the models; "
            f"{trace.measured('assumed: contention of 30%')} to "
            f"{trace.measured('assumed: the load of figure 4.2')} under other assumptions",
            trace.made["command"],
            "No independent confirmation: the saving follows from the load of the servers, which "
            "the dissertation does not state and we chose by its numbers of Aggregators.",
        ),
        Claim(
            "two to four jobs need 25 to 75 % fewer Aggregators than servers",
            f"{span(fewer, percent=True)} fewer for two jobs, {ONE_RUN}; "
            f"{1 - case.ratio('arrivals and ends: Aggregator-seconds'):.0%} fewer while four jobs "
            "arrive and end",
            case.made["command"],
            "No difference. Replicas are counted.",
        ),
        Claim(
            "at most 9 % slower on the pool",
            f"iterations {span(slower, digits=2)} times as long, {ONE_RUN}",
            testbed.made["command"],
            "One Aggregator receives, encrypts and copies what two servers did, on two cores for "
            "all hosts together.",
        ),
        Claim(
            "the same",
            f"iterations of two jobs that compute "
            f"{span(real.ratios('real computation'), digits=2)} times as long, {_one_run(real)}",
            real.made["command"],
            "Computation takes most of the time on two cores.",
        ),
        Claim(
            "a job alone up to 1.17 times faster than with ps-lite",
            f"{models}: steps {alone} times as long as on servers with the tensors in turn, with "
            f"replicas {kept} times, {_one_run(servers)}",
            servers.made["command"],
            "The peers are Aggregators, too: ps-lite was not measured. Replicas do every update "
            "twice, and its servers have none.",
        ),
        Claim(
            "the same",
            f"steps {step.ratio(f'AlexNet, {TWO}: step'):.2f} (AlexNet) to "
            f"{step.ratio(f'100 small, {TWO}: step'):.2f} times as long (small tensors) as with "
            "gloo's all-reduce",
            step.made["command"],
            "Another peer; the optimizer runs once instead of in each worker.",
        ),
        Claim(
            "moving a model stalls workers for 13.6 to 43.8 ms",
            f"{step.measured(STALL)} for 100 MB, median of the moves ({step.peer(STALL)})",
            step.made["command"],
            "Our run has one host, where tensors are in shared memory.",
        ),
    ]


ALONE = ", balanced: step"
AGGREGATORS = "Aggregators, with replicas'"
TWO = "2 Aggregators"
STALL = "move of 100 x 1 MB and its momentum: stall, median"


def _one_run(record: Record) -> str:
    return "one quick run" if "--quick" in record.made["command"] else "one run"


def _decisions(record: Record) -> list[Claim]:
    optimus = record.measured("optimus: 4,000 jobs on 16,000 machines, 112,000 tasks")
    return [
        Claim(
            "SLAQ: 4,000 jobs on 16,000 cores in hundreds of ms to seconds",
            f"{record.measured('slaq: 4,000 jobs on 16,000 cores')}, median of 5",
            record.made["command"],
            "The greedy loop is compiled; refits of losses are not included.",
        ),
        Claim(
            "Optimus: 100,000 tasks on 16,000 machines in 5 s",
            f"{optimus}, 112,000 tasks, median of 5",
            record.made["command"],
            "The greedy loop and the placement are compiled.",
        ),
    ]


def _losses(record: Record) -> list[Claim]:
    worst = [record.ratio(f"{group}: p95 / loss, worst convex") for group in ("shared", "digits")]
    networks = span([record.ratio("networks: p95 / loss, worst")], percent=True)
    covered = record.ratios("margins of 90 %")
    return [
        Claim(
            "SLAQ: losses ten iterations ahead are within 5 %",
            f"the worst convex, EM-like or boosting curve at the 95th percentile: "
            f"{span(worst, percent=True, digits=1)} off, two sets of curves; of seven small "
            f"networks {networks}",
            record.made["command"],
            "The paper leaves losses that are not convex to hints of the user; here uncertain "
            "predictions are known to be so.",
        ),
        Claim(
            "our own: margins of 90 % contain nine of ten losses",
            f"{span(covered, percent=True)}, four kinds of curves, two of them not used for tuning",
            record.made["command"],
            "No difference on average; single curves are covered less often, as the page says.",
        ),
    ]


def _fidelity(alone: Record, hosts: Record) -> list[Claim]:
    error = "error of the average JCT"
    policies = ("fifo", "tiresias-las", "srtf", "themis")
    found, on_hosts = (
        [record.ratio(f"{policy}: {error}") for policy in policies] for record in (alone, hosts)
    )
    return [
        Claim(
            "our own: the simulator gives average completion times of a live cluster within 10 %",
            f"{span(found, percent=True, digits=1)} off, four policies, {ONE_RUN}",
            alone.made["command"],
            "Processes take time to start and to stop; the simulator assumes the median of each.",
        ),
        Claim(
            "the same on four machines",
            f"{span(on_hosts, percent=True, digits=1)} off, four policies, {ONE_RUN}",
            hosts.made["command"],
            "A start waits until Ray has released the slots of the previous job; the simulator "
            "draws start-ups around their means.",
        ),
    ]
