"""What a machine's tokens were held for within a period, in numbers, text and a picture."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.console import Console

from motet.report.turns.figure import turns_figure, write_turns_figure
from motet.report.turns.machine_turns import MachineTurns, SubtaskTurn, dominant_jobs
from motet.report.turns.text import TurnsScreen

TURNS = [
    SubtaskTurn(0, 100_000, "comp", "1"),
    SubtaskTurn(900_000, 1_200_000, "comp", "1"),
    SubtaskTurn(1_200_000, 1_700_000, "comp", "12"),
    SubtaskTurn(1_250_000, 1_500_000, "pull", "1"),
    SubtaskTurn(1_500_000, 2_000_000, "push", "1"),
]


def latest(seconds: float = 1.0) -> MachineTurns:
    return MachineTurns.latest("m0", TURNS, seconds, {"1": "topics", "12": "fit", "3": "other"})


def test_turns_are_cut_to_the_last_seconds_of_the_record() -> None:
    turns = latest()
    assert (turns.begin_us, turns.end_us) == (1_000_000, 2_000_000)
    assert [each.start_us for each in turns.turns] == [1_000_000, 1_200_000, 1_250_000, 1_500_000]
    assert (turns.jobs, turns.names) == (["1", "12"], {"1": "topics", "12": "fit"})


def test_a_resource_is_in_use_while_any_job_holds_it() -> None:
    """Also where one of them has lost its token to the limit of a subtask."""
    turns = latest()
    assert (turns.use("CPU"), turns.use("network")) == (pytest.approx(0.7), pytest.approx(0.75))
    late = SubtaskTurn(1_100_000, 1_300_000, "comp", "3")
    both = MachineTurns.latest("m0", [*TURNS, late], 1.0, {})
    assert both.use("CPU") == pytest.approx(0.7)
    assert turns.held_us("1", "network") == 750_000


def test_a_column_shows_the_job_that_held_most_of_it() -> None:
    held = dominant_jobs(latest(), "CPU", 10)
    jobs = [None if each is None else each.job for each in held]
    assert jobs == ["1", "1", "12", "12", "12", "12", "12", None, None, None]


def test_the_document_is_read_back() -> None:
    turns = latest()
    again = MachineTurns.from_dict(turns.as_dict())
    assert (again.turns, again.jobs, again.names) == (turns.turns, turns.jobs, turns.names)
    assert turns.as_dict()["network_use"] == pytest.approx(0.75)


def shown(turns: MachineTurns) -> list[str]:
    console = Console(width=29, color_system=None)
    with console.capture() as screen:
        console.print(TurnsScreen(turns))
    return screen.get().splitlines()


def test_a_terminal_shows_letters_of_jobs_and_small_ones_for_push() -> None:
    lines = shown(latest())
    assert "CPU      AAAABBBBBBBBBB······" in lines
    assert "network  ·····AAAAAaaaaaaaaaa" in lines
    assert any(line.startswith("B job 12 fit") for line in lines)


def test_without_turns_the_machine_was_not_shared() -> None:
    empty = MachineTurns.latest("m0", [], 1.0, {})
    assert shown(empty) == ["m0: no job has shared it"]
    assert (empty.use("CPU"), dominant_jobs(empty, "CPU", 3)) == (0.0, [None] * 3)


def test_a_figure_has_a_panel_for_each_machine(tmp_path: Path) -> None:
    figure = turns_figure([latest(), latest(0.5)])
    assert [axes.get_ylabel() for axes in figure.axes] == ["m0", "m0"]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["1 topics", "12 fit"]
    write_turns_figure([latest()], tmp_path / "turns.png")
    assert (tmp_path / "turns.png").read_bytes().startswith(b"\x89PNG")
