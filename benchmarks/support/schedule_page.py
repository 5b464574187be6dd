"""The section on schedules among Harmony's measurements, beside the paper's figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, fields

from support.hosts import ROOT
from support.pages import Row, put_into, table
from support.schedule_ledger import Ledger, ledger, steps_in, training_s
from support.schedule_outcomes import (
    ISOLATED,
    PAPER,
    SECTIONS,
    Outcome,
    Prediction,
    Profile,
    draw_traces,
    reference_of,
)

PAGE = ROOT / "docs" / "systems" / "harmony-measurements.md"
PICTURE = ROOT / "docs" / "_static" / "harmony-traces.png"
SCRIPT, NEXT_HEADING = "harmony_testbed.py", "## Tokens"


def write_page(
    found: Mapping[str, Outcome], profiles: Sequence[Profile], shape: str, cpus: float
) -> None:
    """`shape`: of the hosts, as text; `cpus`: of each."""
    put_into(PAGE, section(found, profiles, shape, cpus), SCRIPT, NEXT_HEADING)
    draw_traces(found, PICTURE)
    print(f"written: {PAGE}, {PICTURE}")


def section(
    found: Mapping[str, Outcome], profiles: Sequence[Profile], shape: str, cpus: float
) -> str:
    """Of all schedules that were measured, with `isolated`."""
    parts = [
        f"""`sudo python benchmarks/harmony_testbed.py --part schedules`: {len(profiles)} jobs on
{shape}, one run of each schedule. Ratios are how many times as long jobs take under `isolated`;
above 1 the schedule is faster. Load: averages of the machine over 1, 5 and 15 minutes at the
end.""",
        table(
            ["schedule", "JCT", "makespan", "paper: JCT", "makespan", "CPU", "network",
             "jobs on a pair", "load"],
            _time_rows(found),
        ),
        "![CPU and network in use over time](../_static/harmony-traces.png)",
        """How much of the distance to the paper the model predicts for exactly these jobs, by the
code of the simulator: eq. 4.1 with constant COMM; the same with the gaps of each job, starts that
take as long as measured, and COMM of as many hosts as a job has (a host has a server with its part
of the model, so a worker gets 1/2 of the model from others on two hosts, 3/4 on four), by which
groups are chosen, too; and what was measured. Ratios against `isolated` in the same column:""",
        table(
            ["schedule", "eq. 4.1: JCT", "makespan", "with starts, COMM: JCT", "makespan",
             "measured: JCT", "makespan", "paper: JCT", "makespan"],
            _gap_rows(found),
        ),
        """What regrouping costs (pauses and starts of jobs that moved, the mean over jobs, as a
part of the makespan; the paper: below 2 %), and how far the model with starts and COMM is from what
was measured, with the steps of each job alone and with those that it had in the run.
Controllers use CPUs beside those of the hosts:""",
        table(
            ["schedule", "moves", "regrouping", "a start takes", "COMP waits for data",
             "simulated, steps alone: JCT", "makespan", "steps in the run: JCT", "makespan",
             "controllers: CPUs"],
            _cost_rows(found),
        ),
        """Where the time goes: seconds of a job until its end, means over jobs, which add up to the
mean JCT. *Barrier*: waits for the job's own slower workers and its servers; *rest*: messages, and
the slowest worker beyond the mean; *between*: the controller between two epochs; *stopping*: after
the last epoch of a stay.""",
        table(["schedule", *(each.name for each in fields(Ledger))], _ledger_rows(found)),
        """The model of groups by itself: the jobs trained so long in their stays, and how far the
model is from that for the same mini-batches in the same stays, beside the same jobs, with the steps
that each job had in the run (limit: 10 %). Without gaps it is eq. 4.1 with CPU time outside of
COMP:""",
        table(
            ["schedule", "trained, a sum over jobs", "modelled", "without gaps"],
            _speed_rows(found, cpus),
        ),
        """Models of jobs that were always on one pair, as under `isolated`, are equal to the bit,
whatever moves they made. Input that may be on disk is computed in sections of 4 MB, which adds
floating-point numbers in another order; so `reloading` is compared with `sections`, isolated jobs
that have the same sections in memory. On more pairs they have more workers and servers, which add
the same numbers in another order (the mini-batches are the same); there losses are compared:""",
        table(
            ["schedule", "always on a pair", "of them equal to the bit", "others",
             "largest relative difference of their losses"],
            _model_rows(found),
        ),
        "The jobs, each alone on a pair of hosts, per mini-batch; memory is that of one host:",
        table(
            ["job", "COMP", "COMM", "CPU outside of COMP", "gap", "to the next one", "memory"],
            ([one.name, f"{one.comp_s:.2f} s", f"{one.comm_s:.2f} s", f"{one.outside_s:.2f} s",
              f"{one.gap_s:.2f} s", f"{one.period_s:.2f} s", f"{one.memory_bytes >> 20} MB"]
             for one in profiles),
        ),
    ]  # fmt: skip
    return "\n\n".join(parts)


def _time_rows(found: Mapping[str, Outcome]) -> Iterator[Row]:
    isolated = found[ISOLATED]
    for name, one in found.items():
        times = [f"{isolated.jct_s / one.jct_s:.2f}", f"{isolated.makespan_s / one.makespan_s:.2f}"]
        if name == ISOLATED:
            times = [f"{one.jct_s:.0f} s", f"{one.makespan_s:.0f} s"]
        paper = [f"{ratio:.2f}" for ratio in PAPER[name]] if name in PAPER else ["", ""]
        use = [f"{one.cpu:.0%}", f"{one.network:.0%}", f"{one.beside:.1f}", one.load]
        yield [name, *times, *paper, *use]


def _gap_rows(found: Mapping[str, Outcome]) -> Iterator[Row]:
    isolated = found[ISOLATED]
    for name, one in found.items():
        if name not in (ISOLATED, SECTIONS) and one.model is not None:
            yield [
                name,
                *_gains(one.model, isolated.model),
                *_gains(one.alone, isolated.alone),
                *_gains(one, isolated),
                *(f"{ratio:.2f}" for ratio in PAPER[name]),
            ]


def _gains(one: Prediction | Outcome | None, isolated: Prediction | Outcome | None) -> list[str]:
    if one is None or isolated is None:
        return ["", ""]
    return [f"{isolated.jct_s / one.jct_s:.2f}", f"{isolated.makespan_s / one.makespan_s:.2f}"]


def _cost_rows(found: Mapping[str, Outcome]) -> Iterator[Row]:
    for name, one in found.items():
        yield [
            name,
            str(one.moves),
            f"{one.regrouping:.1%}",
            f"{one.start_up_s:.1f} s",
            f"{one.load_s:.1f} s",
            *_errors(one.alone, one),
            *_errors(one.in_group, one),
            f"{one.controllers:.2f}",
        ]


def _ledger_rows(found: Mapping[str, Outcome]) -> Iterator[Row]:
    for name, one in found.items():
        yield [name, *(f"{seconds:.1f}" for seconds in astuple(ledger(one.stays)))]


def _speed_rows(found: Mapping[str, Outcome], cpus: float) -> Iterator[Row]:
    for name, one in found.items():
        steps = steps_in(one.stays, cpus)
        without = {key: times._replace(gap_s=0.0) for key, times in steps.items()}
        measured_s, modelled_s = training_s(one.stays, steps)
        _, without_s = training_s(one.stays, without)
        errors = (f"{each / measured_s - 1:+.0%}" for each in (modelled_s, without_s))
        yield [name, f"{measured_s:.0f} s", *errors]


def _model_rows(found: Mapping[str, Outcome]) -> Iterator[Row]:
    for name, one in found.items():
        reference = reference_of(name, found)
        if reference is not None:
            same, count, difference = one.same_models(reference)
            others = len(one.models) - count
            yield [name, str(count), str(same), str(others), f"{difference:.1g}" if others else ""]


def _errors(predicted: Prediction | None, one: Outcome) -> list[str]:
    if predicted is None:
        return ["", ""]
    return [
        f"{predicted.jct_s / one.jct_s - 1:+.0%}",
        f"{predicted.makespan_s / one.makespan_s - 1:+.0%}",
    ]
