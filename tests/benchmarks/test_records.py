"""Recorded results: kept from a run, read back, and complete for the page of claims."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.recorded_claims import NAMES, recorded_claims
from support.records import MADE, RECORDS, Record, RecordMissing, keep


def results_in(folder: Path) -> Path:
    folder.mkdir()
    made = {"command": "python benchmarks/one.py", "date": "2026-11-26"}
    figures = [
        {"name": "first: error", "measured": "2 s", "peer": "1 s", "ratio": 0.5},
        {"name": "second: error", "measured": "3 s", "peer": "1 s", "ratio": 0.25},
        {"name": "second: memory", "measured": "3 GB", "peer": "1 GB", "ratio": None},
    ]
    document = {"title": "One", "made": made, "machine": {"python": "3"}, "figures": figures}
    (folder / "one.json").write_text(json.dumps(document))
    return folder


def test_a_kept_result_is_read_as_it_was_measured(tmp_path: Path) -> None:
    kept = keep("one", results_in(tmp_path / "results"), tmp_path / "records")
    record = Record.read("one", kept.parent)
    assert record.made["command"] == "python benchmarks/one.py"
    assert record.measured("first: error") == "2 s"
    assert record.peer("first: error") == "1 s"
    assert [record.ratio("first: error"), *record.ratios("second")] == [0.5, 0.25]
    assert record.ratios_of("") == [("first: error", 0.5), ("second: error", 0.25)]


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(RecordMissing, match="run the benchmark first"):
        keep("one", tmp_path)
    with pytest.raises(RecordMissing, match="--keep one"):
        Record.read("one", tmp_path)
    record = Record.read("one", keep("one", results_in(tmp_path / "results"), tmp_path).parent)
    with pytest.raises(
        RecordMissing, match=r"no figure 'third'; it has first: error, second: error"
    ):
        record.ratio("third")
    with pytest.raises(RecordMissing, match="no figure 'third'"):
        record.ratios("third")


@pytest.mark.parametrize(
    ("target", "verdict", "text"),
    [(None, "", "0.38"), (0.4, "MISS", "0.38, aim 0.4: missed"), (0.3, "ok", "0.38, aim 0.3")],
)
def test_a_ratio_is_told_with_its_aim(target: float | None, verdict: str, text: str) -> None:
    figure = {"ratio": 0.381, "target": target, "verdict": verdict}
    assert Record("one", {}, {"speed": figure}).judged("speed") == text


def test_every_record_tells_how_it_was_made_and_belongs_to_the_page() -> None:
    found = {path.stem: Record.read(path.stem) for path in RECORDS.glob("*.json")}
    assert set(found) == set(NAMES)
    for record in found.values():
        assert all(record.made[key] for key in MADE)


def test_the_records_have_the_figure_of_every_claim() -> None:
    claims = recorded_claims({name: Record.read(name) for name in NAMES})
    for system, of_system in claims.items():
        assert of_system, system
        for claim in of_system:
            assert all(claim.row)
