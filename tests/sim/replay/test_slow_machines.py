"""Machines that are slow for a while: as people write it, and as it happens."""

from __future__ import annotations

from itertools import islice, pairwise, takewhile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.domain.cluster import ClusterSpec
from motet.domain.errors import BadInput
from motet.domain.units import SECOND_US
from motet.sim.replay.slow_machines import (
    DrawnSpells,
    ListedSpell,
    PaceChange,
    pace_changes,
    parse_spells,
)

TWO = ClusterSpec.of([4, 4], names=("big", "small"))
HEADER = "machine,start,end,times_as_long\n"


def drawn(text: str, machines: int, seed: int, until_s: int) -> list[PaceChange]:
    changes = pace_changes(parse_spells(text), ClusterSpec.uniform(machines, 1), 0, seed)
    return list(takewhile(lambda change: change.time_us < until_s * SECOND_US, changes))


def test_no_machine_is_slow_by_default() -> None:
    assert list(pace_changes(parse_spells("none"), TWO, 0, 0)) == []


def test_three_numbers_say_how_often_how_long_and_how_slow() -> None:
    assert parse_spells("0.1,3600,4") == DrawnSpells(0.1, 3600.0, 4.0)


def test_drawn_spells_have_the_given_fraction_and_mean_length() -> None:
    machines, until_s = 50, 2_000_000
    began: dict[int, int] = {}
    spells_s: list[float] = []
    for time_us, machine, times_as_long in drawn("0.2,1000,3", machines, 0, until_s):
        if times_as_long > 1:
            began[machine] = time_us
        else:
            spells_s.append((time_us - began.pop(machine)) / SECOND_US)
    assert sum(spells_s) / (machines * until_s) == pytest.approx(0.2, rel=0.03)
    assert sum(spells_s) / len(spells_s) == pytest.approx(1000, rel=0.03)


def test_a_machine_may_be_slow_from_the_beginning() -> None:
    first = [change for change in drawn("0.5,100,2", 1000, 0, 1) if change.time_us == 0]
    assert 400 < len(first) < 600


@given(seed=st.integers(0, 100), machines=st.integers(1, 6))
def test_changes_are_ordered_and_alternate_in_speed(seed: int, machines: int) -> None:
    spells, cluster = parse_spells("0.3,10,2"), ClusterSpec.uniform(machines, 1)
    found = list(islice(pace_changes(spells, cluster, 5, seed), 60))
    again = list(islice(pace_changes(spells, cluster, 5, seed), 60))
    assert found == again
    assert [change.time_us for change in found] == sorted(change.time_us for change in found)
    assert found[0].time_us >= 5
    for machine in range(machines):
        own = [change.times_as_long for change in found if change.machine == machine]
        assert all(one != other for one, other in pairwise(own))


def test_every_seed_has_its_own_spells() -> None:
    assert drawn("0.3,10,2", 3, 0, 1000) != drawn("0.3,10,2", 3, 1, 1000)


def written(folder: Path, text: str) -> str:
    path = folder / "slow.csv"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_a_file_lists_spells_in_any_order(tmp_path: Path) -> None:
    text = HEADER + "small,20,30,2\n\nbig,5.5,10, 4 \nsmall,10,20,3\n"
    spells = parse_spells(written(tmp_path, text))
    assert isinstance(spells, tuple)
    assert spells[1] == ListedSpell(f"{tmp_path}/slow.csv:4", "big", 5_500_000, 10_000_000, 4.0)
    assert list(pace_changes(spells, TWO, 0, 0)) == [
        PaceChange(5_500_000, 0, 4.0),
        PaceChange(10_000_000, 0, 1.0),
        PaceChange(10_000_000, 1, 3.0),
        PaceChange(20_000_000, 1, 1.0),
        PaceChange(20_000_000, 1, 2.0),
        PaceChange(30_000_000, 1, 1.0),
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("often", r"slow_machines=often: give the fraction .* 0.1,3600,4; or a .csv file; or none"),
        ("0.1,3600", "slow_machines=0.1,3600: give the fraction"),
        ("0,3600,4", "0 as the fraction of time; give a value between 0 and 1"),
        ("nan,3600,4", "nan as the fraction of time"),
        ("0.1,0.5,4", "spells of 0.5 s; give at least 1"),
        ("0.1,3600,0.5", "0.5 times as long; give 1 to 100"),
        ("0.1,3600,inf", "inf times as long"),
        ("missing.csv", r"slow_machines=missing.csv: cannot be read \(No such file"),
    ],
)
def test_invalid_spells_are_refused(text: str, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        parse_spells(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "slow.csv: the file is empty; give a header machine,start,end,times_as_long"),
        ("\n \n", "slow.csv: the file is empty; give a header machine,start,end,times_as_long"),
        ("machine,start\n", "slow.csv:1: the columns are machine,start; give"),
        (HEADER + "big,1,2\n", "slow.csv:2: 3 cells under 4 columns"),
        (HEADER + "big,now,2,4\n", "slow.csv:2: 'now' is not a number of seconds"),
        (HEADER + "big,3,2,4\n", "slow.csv:2: slow from 3 to 2 s; a spell begins at 0 or"),
        (HEADER + "big,-1,2,4\n", "slow.csv:2: slow from -1 to 2 s"),
        (HEADER + "big,1,2,much\n", "slow.csv:2: times_as_long is 'much'; give a number from 1"),
        (HEADER + "big,1,2,200\n", "slow.csv:2: times_as_long is '200'"),
        (HEADER + "m7,1,2,4\n", "slow.csv:2: the cluster has no machine 'm7'; the first of its 2"),
        (
            HEADER + "big,1,9,4\nbig,5,12,4\n",
            r"slow.csv:3: big is slow already until 9 s \(.*slow.csv:2\)",
        ),
    ],
)
def test_a_file_that_cannot_be_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        list(pace_changes(parse_spells(written(tmp_path, text)), TWO, 0, 0))


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    (tmp_path / "slow.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BadInput, match="cannot be read"):
        parse_spells(str(tmp_path / "slow.csv"))
