"""Which lines of the table of simulations are measured."""

from __future__ import annotations

from pathlib import Path

import pytest

import simulator


def test_a_line_that_there_is_not_is_refused_with_the_place_of_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MOTET_SHARED", str(tmp_path))
    monkeypatch.setattr("sys.argv", ["simulator.py", "--only", "philly-60x8-fifo"])
    with pytest.raises(SystemExit) as ended:
        simulator.main()
    assert ended.value.code == 2
    assert "no line has 'philly-60x8-fifo' in its name" in (told := capsys.readouterr().err)
    assert "DIR/traces/philly.csv.gz" in told


def test_the_log_is_found_at_that_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "traces").mkdir()
    (tmp_path / "traces" / "philly.csv.gz").touch()
    monkeypatch.setenv("MOTET_SHARED", str(tmp_path))
    monkeypatch.setattr("sys.argv", ["simulator.py", "--only", "philly-60x8-fifo", "--list"])
    simulator.main()
    assert capsys.readouterr().out.split() == ["philly-60x8-fifo", "philly-60x8-fifo-log"]
