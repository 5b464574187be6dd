from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "tools" / "run_blocks.py"


def run(markdown: str, folder: Path) -> subprocess.CompletedProcess[str]:
    page = folder / "page.md"
    page.write_text(markdown)
    return subprocess.run(
        [sys.executable, SCRIPT, page], capture_output=True, text=True, check=False
    )


def test_commands_of_a_console_block_run_and_its_output_does_not(tmp_path: Path) -> None:
    done = run("```console\n$ echo spoken\nnot-a-command\n```\n", tmp_path)
    assert (done.returncode, "spoken" in done.stdout) == (0, True)


def test_a_command_of_a_console_block_may_continue_after_a_backslash(tmp_path: Path) -> None:
    done = run("```console\n$ echo one \\\n    two\nnot-a-command\n```\n", tmp_path)
    assert (done.returncode, "one two" in done.stdout) == (0, True)


def test_the_first_failing_command_ends_the_run_and_is_named_by_line(tmp_path: Path) -> None:
    done = run("Title\n\n```sh\nfalse\necho after\n```\n\n```sh\necho later\n```\n", tmp_path)
    assert done.returncode == 1
    assert "page.md:3 (sh): FAILED with exit status 1" in done.stdout
    assert "after" not in done.stdout
    assert "later" not in done.stdout


def test_python_blocks_of_a_page_share_one_session(tmp_path: Path) -> None:
    done = run("```python\nx = 6\n```\ntext\n```python\nprint(x * 7)\n```\n", tmp_path)
    assert (done.returncode, "42" in done.stdout) == (0, True)


@pytest.mark.parametrize(("target", "status"), [("test", 0), ("no-such-target", 1)])
def test_make_is_checked_for_the_target_but_not_followed(
    target: str, status: int, tmp_path: Path
) -> None:
    assert run(f"```sh\nmake {target}\n```\n", tmp_path).returncode == status


def test_cloning_is_passed_over(tmp_path: Path) -> None:
    page = "```sh\ngit clone https://invalid.example/motet.git\ncd motet\n```\n"
    assert run(page, tmp_path).returncode == 0


def test_a_block_with_an_excuse_is_not_run_but_mentioned(tmp_path: Path) -> None:
    done = run("<!-- not run: needs a cluster -->\n```sh\nfalse\n```\n", tmp_path)
    assert done.returncode == 0
    assert "page.md:2 (sh): not run, needs a cluster" in done.stdout
