"""Names of runs are unique and usable as names of folders."""

from __future__ import annotations

from motet.interfaces.cli.simulate.run_names import LONGEST_VALUE, run_names_of
from motet.sim.experiment import Experiment


def swept(value: str, seed: int = 0) -> Experiment:
    return Experiment("tiresias-las", {"thresholds": value}, seed, swept="thresholds")


def test_a_name_has_the_seed_only_where_there_are_several() -> None:
    assert run_names_of([Experiment("fifo"), Experiment("srtf")]) == ["fifo", "srtf"]
    assert run_names_of([Experiment("fifo", seed=seed) for seed in (3, 4)]) == [
        "fifo-seed3",
        "fifo-seed4",
    ]


def test_a_name_has_the_value_of_a_swept_parameter() -> None:
    assert run_names_of([swept("3200,7200"), swept(""), Experiment("fifo")]) == [
        "tiresias-las-thresholds=3200,7200",
        "tiresias-las-thresholds=none",
        "fifo",
    ]


def test_a_value_is_shortened_and_separators_of_paths_are_replaced() -> None:
    (name,) = run_names_of([swept("@/etc/" + "x" * 200)])

    assert name == "tiresias-las-thresholds=" + ("__etc_" + "x" * 200)[:LONGEST_VALUE]


def test_names_that_become_equal_get_a_number() -> None:
    assert run_names_of([swept("@/a"), swept("@:a"), swept("@;a")]) == [
        "tiresias-las-thresholds=__a",
        "tiresias-las-thresholds=__a-1",
        "tiresias-las-thresholds=__a-2",
    ]
