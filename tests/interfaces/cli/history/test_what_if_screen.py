"""What `motet whatif` prints of a replay."""

from __future__ import annotations

import re
from pathlib import Path

from rich.console import Console

from motet.domain.units import SECOND_US
from motet.interfaces.cli.history.what_if_screen import what_if_screen
from motet.interfaces.forecasts.followed_journal import FollowedJournal
from motet.interfaces.forecasts.replay.what_if import WhatIfQuestion, what_if
from motet.live.journal.store import JournalStore
from motet.live.master.facts import ClusterDeclared
from motet.live.master.intake import ChoosePolicy
from timed_master import play

NOON_US = 1_700_000_000 * SECOND_US
MINUTE_US = 60 * SECOND_US


def printed(folder: Path, until_us: int) -> str:
    """Of a cluster with two jobs of a minute, which was left to itself until then."""
    address = str(folder / "journal.db")
    with JournalStore(address) as store:
        rows = [(NOON_US, MINUTE_US, 2), (NOON_US + 1, MINUTE_US, 2)]
        play(store, ClusterDeclared(("m0",), (4,)), rows, ChoosePolicy("fifo"), (), until_us)
    journal = FollowedJournal(address)
    report = what_if(journal, WhatIfQuestion("best-effort"))
    journal.close()
    console = Console(width=200)
    with console.capture() as captured:
        console.print(what_if_screen(report))
    return captured.get()


def test_without_ended_jobs_a_sentence_stands_in_the_place_of_the_times(tmp_path: Path) -> None:
    heading, told, empty, *notes = printed(tmp_path, NOON_US + MINUTE_US // 2).splitlines()
    assert heading.startswith("2 jobs, ")
    assert told == (
        "No job of this period has ended by itself, so there are no completion times to compare: "
        "begin earlier, or ask again later."
    )
    assert empty == ""
    assert [line.partition(":")[0] for line in notes] == ["2 jobs not ended yet"]


def test_with_ended_jobs_the_times_of_the_three_runs_are_printed(tmp_path: Path) -> None:
    shown = printed(tmp_path, NOON_US + 2 * MINUTE_US)
    (heading,) = (line for line in shown.splitlines() if line.startswith("COMPLETION TIMES"))
    titles = ["MEAN", "MEDIAN", "95TH", "MEAN WAIT", "MAKESPAN", "PREEMPTIONS"]
    assert re.split(" {2,}", heading) == ["COMPLETION TIMES", *titles]
    assert shown.count("simulated  ") == 2
    assert "No job of this period" not in shown
