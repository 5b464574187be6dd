from __future__ import annotations

from typing import Any

from motet.report.simulation.missing_inputs import lacks_needed_inputs, missing_input_notes


def run(policy: str, *missing: tuple[str, int, bool], seed: int = 0) -> dict[str, Any]:
    keys = ("input", "jobs", "is_needed")
    entries = [dict(zip(keys, each, strict=True)) for each in missing]
    rest = {"of": 3, "effect": "it guesses"}
    return {"policy": policy, "seed": seed, "missing_inputs": [each | rest for each in entries]}


def test_policies_that_lack_what_they_need_are_marked_and_explained_once() -> None:
    slaq = run("slaq", ("loss curves", 3, True), ("speed functions", 3, True))
    runs = [run("fifo"), slaq, run("slaq", *[("loss curves", 3, True)] * 0, seed=1), slaq]

    assert [lacks_needed_inputs(each) for each in runs] == [False, True, False, True]
    assert missing_input_notes(runs) == [
        "* slaq: no loss curves in the log: it guesses; no speed functions in the log: it guesses."
    ]


def test_policies_with_the_same_partial_lack_share_a_line() -> None:
    lack = ("whole run times", 2, True)

    assert not lacks_needed_inputs(run("srtf", lack))
    useful = run("themis", (lack[0], lack[1], False))
    runs = [run("srtf", lack), run("srsf", lack), run("srtf", lack), useful]
    assert missing_input_notes(runs) == [
        "srtf, srsf, themis: 2 of 3 jobs lack whole run times: it guesses."
    ]


def test_policies_that_are_told_run_times_share_a_line() -> None:
    runs = [run("srtf") | {"knows_durations": True}, run("fifo") | {"knows_durations": False}]
    runs += [run("themis") | {"knows_durations": True}, runs[0]]

    assert missing_input_notes(runs) == [
        "srtf, themis: told the run times in advance, as in no real cluster."
    ]


def test_useful_inputs_that_no_job_has_and_earlier_versions_have_no_note() -> None:
    assert missing_input_notes([run("drf", ("queues", 3, False)), {"policy": "fifo"}]) == []
