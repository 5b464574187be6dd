"""The page about Infiniswap has what the records say, and one failed benchmark stops no other."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

import remote_memory_all
from support.infiniswap_claims import INFINISWAP, best_of, infiniswap_claims
from support.infiniswap_page import PARTS, Part
from support.memory_figures import NO_EVENT
from support.pages import begin_of
from support.records import RECORDS, Record, keep

SCRIPT = "remote_memory_all.py"


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_a_section_of_the_page_is_that_of_the_record(part: Part) -> None:
    """It is empty until the part is measured for the first time."""
    is_measured = (RECORDS / f"{part.record}.json").exists()
    section = f"{part.section()}\n" if is_measured else ""
    marked = f"{begin_of(SCRIPT, part.name)}\n{section}<!-- evidence: ends -->"
    assert marked in (remote_memory_all.PAGES / part.page).read_text(encoding="utf-8")


def test_the_section_about_spilled_data_compares_lender_and_disk() -> None:
    figure = {"measured": "0.4 s", "peer": "2.8 s", "ratio": 6.56, "target": 1.0, "verdict": "ok"}
    made = {"command": "python benchmarks/spilling.py --part remote", "date": "", "load": "1"}
    record = Record("spilling_remote", made, {"remote, disk (125 MB/s, 3000 IOPS)": figure})
    (part,) = (each for each in PARTS if each.name == "spill")
    assert "| 125 MB/s, 3000 IOPS | 0.4 s | 2.8 s | 6.6, aim 1 |" in part.text(record)
    assert part.script == ("spilling.py", "--part", "remote")


@pytest.mark.parametrize(
    ("options", "text"),
    [("", "the best of 3 runs"), (" --repeat 5", "the best of 5 runs"), (" --repeat 1", "one run")],
)
def test_the_runs_of_a_case_are_those_of_the_command(options: str, text: str) -> None:
    made = {"command": f"python benchmarks/remote_memory.py{options}"}
    assert best_of(Record("remote_memory", made, {})) == text


def test_claims_about_events_tell_what_is_lost_without_one() -> None:
    records = {name: Record.read(name) for name in INFINISWAP}
    failures = records["remote_memory_failures"]
    figures = {**failures.figures, NO_EVENT: {"measured": "2.0 % (-9 to 8 %, 5 runs)"}}
    records[failures.name] = Record(failures.name, failures.made, figures)
    told = [claim.paper for claim in infiniswap_claims(records) if "-9 to 8 %" in claim.why]
    assert [paper.partition(":")[0] for paper in told] == [
        "one of six remote machines fails",
        "the eviction of a slab takes 0.36 ms and costs 2.3 % of the throughput",
    ]


def test_a_benchmark_that_fails_or_measures_nothing_leaves_its_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_memory_all, "RESULTS", tmp_path)
    monkeypatch.setattr(remote_memory_all, "HERE", tmp_path / SCRIPT)
    records = tmp_path / "records"
    monkeypatch.setattr(remote_memory_all, "keep", partial(keep, results=tmp_path, records=records))
    result = json.dumps({"title": "", "made": {}, "figures": []})
    scripts = {
        "broken": "raise SystemExit(1)",
        "idle": "pass",
        "works": f"open(__file__.removesuffix('py') + 'json', 'w').write('{result}')",
    }
    for name, text in scripts.items():
        (tmp_path / f"{name}.json").write_text("of an earlier run")
        (tmp_path / f"{name}.py").write_text(text)
    parts = [Part(name, name, 1, False, _text) for name in scripts]
    assert [remote_memory_all.measure(part) for part in parts] == [False, False, True]
    assert [path.name for path in records.iterdir()] == ["works.json"]


def test_parts_without_a_record_are_left_out_of_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "infiniswap.md"
    page.write_text(f"# Page\n\n{remote_memory_all.BEFORE}\n")
    monkeypatch.setattr(remote_memory_all, "PAGES", tmp_path)
    known = Part("known", "slaq_decisions", 1, False, _text)
    remote_memory_all.write([Part("unknown", "no_such_record", 1, False, _text), known])
    assert "unknown: not written: " in capsys.readouterr().err
    assert begin_of(SCRIPT, "known") in page.read_text()


def _text(record: Record) -> str:
    return record.name
