"""The section on schedules in Harmony's page, beside the paper's figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from support.hosts import ROOT
from support.pages import Row, put_into, table
from support.schedule_outcomes import ISOLATED, PAPER, Outcome, Prediction, Profile, draw_traces

PAGE = ROOT / "docs" / "systems" / "harmony.md"
PICTURE = ROOT / "docs" / "_static" / "harmony-traces.png"
SCRIPT, NEXT_HEADING = "harmony_testbed.py", "## Grouping"


def write_page(found: Mapping[str, Outcome], profiles: Sequence[Profile], shape: str) -> None:
    """`shape`: of the hosts, as text."""
    put_into(PAGE, section(found, profiles, shape), SCRIPT, NEXT_HEADING)
    draw_traces(found, PICTURE)
    print(f"written: {PAGE}, {PICTURE}")


def section(found: Mapping[str, Outcome], profiles: Sequence[Profile], shape: str) -> str:
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
        """What regrouping costs (pauses and starts of jobs that moved, the mean over jobs, as a
part of the makespan; the paper: below 2 %), and what eq. 4.1, by the code of the simulator, gives
for the same schedule, with the steps of each job alone and with those that it had in the run:""",
        table(
            ["schedule", "moves", "regrouping", "a start takes", "COMP waits for data",
             "simulated, steps alone: JCT", "makespan", "steps in the run: JCT", "makespan",
             "models as isolated"],
            _cost_rows(found),
        ),
        "The jobs, each alone on a pair of hosts, per mini-batch; memory is that of one host:",
        table(
            ["job", "COMP", "COMM", "CPU outside of COMP", "to the next one", "memory"],
            ([one.name, f"{one.comp_s:.2f} s", f"{one.comm_s:.2f} s", f"{one.outside_s:.2f} s",
              f"{one.period_s:.2f} s", f"{one.memory_bytes >> 20} MB"] for one in profiles),
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


def _cost_rows(found: Mapping[str, Outcome]) -> Iterator[Row]:
    isolated = found[ISOLATED]
    for name, one in found.items():
        same = sum(a == b for a, b in zip(one.models, isolated.models, strict=True))
        yield [
            name,
            str(one.moves),
            f"{one.regrouping:.1%}",
            f"{one.start_up_s:.1f} s",
            f"{one.load_s:.1f} s",
            *_errors(one.alone, one),
            *_errors(one.in_group, one),
            "" if name == ISOLATED else f"{same} of {len(one.models)}",
        ]


def _errors(predicted: Prediction | None, one: Outcome) -> list[str]:
    if predicted is None:
        return ["", ""]
    return [
        f"{predicted.jct_s / one.jct_s - 1:+.0%}",
        f"{predicted.makespan_s / one.makespan_s - 1:+.0%}",
    ]
