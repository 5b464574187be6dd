"""Bad input: one clear line on stderr, nothing on stdout, exit code 2, nothing started."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from marked_process import run_motet

TINY_RATINGS = "1\t1\t5\n1\t2\t3\n2\t1\t4\n"
FILES = {
    "empty.csv": "",
    "ragged.csv": "a,b,y\n1,2,3\n4,5\n",
    "words.csv": "a,b,y\n1,2,3\n4,five,6\n",
    "nan.csv": "a,b,y\n1,2,3\n4,nan,6\n",
    "infinite.csv": "a,b,y\n1,2,3\n4,inf,6\n",
    "negative.txt": "2\n3\n2\n1 1 2\n2 3 -4\n",
    "u.data": TINY_RATINGS,
    "words.txt": "2\n3\n3\n1 1 2\n1 2 1\n2 3 4\n",
}
CASES = {
    "missing file": (["mlr", "--data", "nowhere.csv"], "nowhere.csv"),
    "empty file": (["mlr", "--data", "empty.csv"], "empty"),
    "wrong column count": (["mlr", "--data", "ragged.csv"], "ragged.csv:3"),
    "text where numbers belong": (["lasso", "--data", "words.csv"], "words.csv:3"),
    "nan": (["lasso", "--data", "nan.csv"], "nan.csv:3"),
    "infinite": (["lasso", "--data", "infinite.csv"], "infinite.csv:3"),
    "negative counts": (["lda", "--data", "negative.txt", "--format", "docword"], "negative.txt:5"),
    "wrong kind of data": (["lda", "--data", "digits"], "digits"),
    "unknown app": (["mrl", "--data", "digits"], "did you mean 'mlr'"),
    "unknown format": (["nmf", "--data", "u.data", "--format", "movielense"], "movielens"),
    "unknown format of bundled data": (["mlr", "--data", "digits", "--format", "blah"], "'blah'"),
    "format of bundled data": (
        ["mlr", "--data", "digits", "--format", "csv"],
        "digits: --format does not apply to digits data",
    ),
    "port that is no number": (
        ["mlr", "--data", "digits", "--port", "80a"],
        "'80a' is not a port number; give one from 0 to 65535",
    ),
    "port out of range": (["mlr", "--data", "digits", "--port", "65536"], "is not a port number"),
    "unknown flag": (["mlr", "--data", "digits", "--epoch", "3"], "--epochs"),
    "unknown parameter": (["lda", "--data", "pydoc", "--set", "topic=3"], "did you mean 'topics'"),
    "text for a number": (["lda", "--data", "pydoc", "--set", "topics=x"], "topics"),
    "value out of range": (["lda", "--data", "words.txt", "--set", "topics=0"], "topics"),
    "too many workers": (
        ["mlr", "--data", "digits", "--machines", "2", "--workers", "3"],
        "workers=3",
    ),
    "too many servers": (
        ["mlr", "--data", "digits", "--machines", "2", "--servers", "3"],
        "servers=3",
    ),
    "no workers": (["mlr", "--data", "digits", "--workers", "0"], "--workers 0"),
    "no epochs": (["mlr", "--data", "digits", "--epochs", "0"], "epochs=0"),
    "a model larger than memory": (
        ["lda", "--data", "words.txt", "--set", "topics=40000000000"],
        "needs about",
    ),
    "a model larger than the address space": (
        ["nmf", "--data", "u.data", "--set", "rank=40000000000"],
        "memory",
    ),
    "unwritable folder": (["mlr", "--data", "digits", "--out", "/proc/motet"], "/proc/motet"),
    "folder is a file": (["mlr", "--data", "digits", "--out", "u.data"], "u.data"),
    "wrong stop rule": (["mlr", "--data", "digits", "--until", "better"], "loss=NUMBER"),
    "negative seed": (["mlr", "--data", "digits", "--seed", "-1"], "--seed"),
    "resume without a folder": (["mlr", "--data", "digits", "--resume"], "--out"),
    "no data": (["mlr"], "--data"),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, content in FILES.items():
        (tmp_path / name).write_text(content)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def assert_is_bad_input(arguments: list[str], mentioned: str) -> None:
    ended = run_motet("train", *arguments, "--json", "-q")

    assert (ended.code, ended.out, ended.left_running) == (2, "", {})
    assert ended.err.startswith("motet: error: ")
    assert ended.err.count("\n") == 1
    assert mentioned in ended.err


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("arguments", "mentioned"), CASES.values(), ids=CASES)
def test_bad_input_is_one_line_that_names_it(arguments: list[str], mentioned: str) -> None:
    assert_is_bad_input(arguments, mentioned)


def test_a_taken_port_is_bad_input() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        assert_is_bad_input(["mlr", "--data", "digits", "--port", str(port)], f"--port {port}")


def test_an_unknown_command_is_bad_input() -> None:
    ended = run_motet("trian")

    assert (ended.code, ended.out) == (2, "")
    assert "did you mean 'train'" in ended.err


def test_an_address_where_no_cluster_answers_is_unreachable() -> None:
    ended = run_motet("train", "mlr", "--data", "digits", "--address", "127.0.0.1:1")

    assert (ended.code, ended.out, ended.left_running) == (5, "", {})
    assert ended.err.startswith("motet: error: --address 127.0.0.1:1: connection failed")
