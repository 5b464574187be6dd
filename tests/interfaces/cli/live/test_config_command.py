"""`motet config`: what commands use unless options say otherwise."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from motet.domain.errors import BadInput, UnknownName
from motet.interfaces.cli.commands import motet
from motet.interfaces.cli.live.job_file import job_values


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("SERVER", "STATE_DIR", "CA_FILE", "QUEUE"):
        monkeypatch.delenv(f"MOTET_{name}", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def config(*words: str) -> Result:
    return CliRunner().invoke(
        motet, ["config", *words], catch_exceptions=False, standalone_mode=False
    )


def test_a_setting_is_shown_with_its_source_until_it_is_unset(home: Path) -> None:
    path = home / "motet" / "config.toml"
    assert config("set", "queue", "vision").stderr == f"{path}\n"
    config("set", "server", "https://head.example:8443/")
    rows = json.loads(config("list", "--json").stdout)["settings"]
    assert rows == [
        {"key": "server", "value": "https://head.example:8443", "source": str(path)},
        {"key": "state_dir", "value": None, "source": None},
        {"key": "ca_file", "value": None, "source": None},
        {"key": "queue", "value": "vision", "source": str(path)},
    ]
    config("unset", "server")
    shown = config("list").stdout
    assert "vision" in shown
    assert "head.example" not in shown


def test_folders_are_kept_as_absolute_paths(home: Path) -> None:
    config("set", "state_dir", "state")
    assert config("list", "-o", "csv").stdout.splitlines()[2].split(",")[1] == str(home / "state")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("set", "sever", "x"), "unknown key 'sever'; did you mean 'server'"),
        (("set", "server", "head:8443"), "not a URL"),
        (("set", "queue", " "), "'motet config unset queue' removes it"),
    ],
)
def test_wrong_settings_are_refused(words: tuple[str, ...], told: str) -> None:
    with pytest.raises((BadInput, UnknownName), match=told):
        config(*words)


def test_jobs_go_to_the_queue_of_the_settings_unless_they_name_one(tmp_path: Path) -> None:
    config("set", "queue", "vision")
    path = tmp_path / "job.yaml"
    path.write_text("run: 'true'\n")
    assert job_values(path, (), (), {})["queue"] == "vision"
    assert job_values(path, (), (), {"queue": "default"})["queue"] == "default"
    path.write_text("run: 'true'\nqueue: urgent\n")
    assert job_values(path, (), (), {})["queue"] == "urgent"
