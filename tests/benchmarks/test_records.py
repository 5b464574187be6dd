"""Recorded results: kept from a run, read back, and complete for the page of claims."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from support.figures import CHANGED, commit_of
from support.hosts import ROOT
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


def test_an_option_is_that_of_the_command_or_of_the_script() -> None:
    record = Record("one", {"command": "sudo python benchmarks/one.py --mb 64"}, {})
    assert record.option("--mb", 128) == 64
    assert record.option("--seconds", 3.5) == 3.5


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


def git(tree: Path, *arguments: str) -> str:
    """Its output. Skips the test where it fails."""
    if shutil.which("git") is None:
        pytest.skip("needs git")
    command = ["git", "-C", str(tree), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"needs the history of the repository: {done.stderr.strip()}")
    return done.stdout


def test_the_code_of_every_record_is_in_the_history() -> None:
    """A branch that is rebased loses the commits that its records name."""
    if git(ROOT, "rev-parse", "--is-shallow-repository").strip() != "false":
        pytest.skip("needs the whole history of the repository")
    history = git(ROOT, "rev-list", "HEAD").split()
    for name in NAMES:
        commit = Record.read(name).made["commit"].removesuffix(CHANGED)
        assert any(each.startswith(commit) for each in history), f"{name}: {commit}"


@pytest.fixture
def no_git_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of a hook name the repository that it is of."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)


@pytest.mark.usefixtures("no_git_variables")
def test_a_commit_tells_whether_the_code_had_changes(tmp_path: Path) -> None:
    code, record, page = (
        tmp_path / path for path in ("src/code.py", "benchmarks/records/one.json", "docs/page.md")
    )
    for path in (code, record, page):
        path.parent.mkdir(parents=True)
        path.write_text("1")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    who = ("-c", "user.name=T", "-c", "user.email=t@example.org")
    git(tmp_path, *who, "commit", "--quiet", "--no-verify", "--message", "first")
    head = git(tmp_path, "rev-parse", "HEAD")[:8]
    record.write_text("2")
    page.write_text("2")
    assert commit_of(tmp_path) == head
    code.write_text("2")
    assert commit_of(tmp_path) == f"{head}+changes"
    git(tmp_path, "checkout", "--quiet", ".")
    assert commit_of(tmp_path) == head
    (tmp_path / "benchmarks" / "new.py").write_text("1")
    assert commit_of(tmp_path) == f"{head}+changes"


def test_the_code_without_a_history_has_no_commit(tmp_path: Path) -> None:
    assert commit_of(tmp_path) == "unknown"


def test_the_records_have_the_figure_of_every_claim() -> None:
    claims = recorded_claims({name: Record.read(name) for name in NAMES})
    for system, of_system in claims.items():
        assert of_system, system
        for claim in of_system:
            assert all(claim.row)
