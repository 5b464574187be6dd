"""Settings: the environment before the file of a project before the file of the user."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from motet.domain.errors import BadInput
from motet.interfaces.configuration.settings import (
    QUEUE,
    SERVER,
    SETTINGS,
    STATE_FOLDER,
    Chosen,
    chosen,
    settings_of_file,
    user_file,
    value_of,
    write_setting,
)
from motet.interfaces.server_address import TOKEN_FILE, ServerAddress, default_server_folder

URL = "http://127.0.0.1:1"


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in a folder of a project, and a user without settings."""
    for setting in SETTINGS.values():
        monkeypatch.delenv(setting.variable, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    folder = tmp_path / "project" / "src"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    return folder.parent


def test_without_files_and_variables_nothing_is_chosen() -> None:
    assert [chosen(setting) for setting in SETTINGS.values()] == [None] * len(SETTINGS)


def test_the_environment_comes_before_the_project_and_this_before_the_user(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_setting(user_file(), "queue", "mine")
    assert chosen(QUEUE) == Chosen("mine", str(user_file()))
    (project / "motet.toml").write_text('queue = "vision"\n')
    assert chosen(QUEUE) == Chosen("vision", str(project / "motet.toml"))
    monkeypatch.setenv("MOTET_QUEUE", "urgent")
    assert chosen(QUEUE) == Chosen("urgent", "MOTET_QUEUE")


def test_a_project_chooses_no_server(project: Path) -> None:
    """Its files may come from another person, who would be sent the token."""
    (project / "motet.toml").write_text('server = "https://evil.example"\n')
    assert value_of(SERVER) is None
    with pytest.raises(BadInput, match=r"motet.toml: server is not read from the file of a folder"):
        value_of(QUEUE)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"server", r"not TOML \(.*\); write lines 'server = \"URL\"'"),
        (b'sever = "x"', "unknown key 'sever'; did you mean 'server'"),
        (b"queue = 3", 'queue: a text, as queue = "..."'),
        (b"\xff", "not text in UTF-8"),
        (b"a = " + b"[" * 10_000, "not TOML"),
    ],
)
def test_a_wrong_file_is_one_clear_error(tmp_path: Path, content: bytes, told: str) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(content)
    with pytest.raises(BadInput, match=f"config.toml: {told}"):
        settings_of_file(path)


def test_a_written_setting_is_read_and_other_lines_stay() -> None:
    user_file().parent.mkdir(parents=True)
    user_file().write_text('# of the lab\nqueue = "old"\nserver = "http://127.0.0.1:2"\n')
    write_setting(user_file(), "queue", 'with "quotes" \\ and é')
    assert settings_of_file(user_file())["queue"] == 'with "quotes" \\ and é'
    write_setting(user_file(), "queue", None)
    assert user_file().read_text() == '# of the lab\nserver = "http://127.0.0.1:2"\n'


def test_commands_find_the_server_and_the_state_folder_of_the_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOTET_TOKEN", "t" * 43)
    write_setting(user_file(), "server", URL)
    assert ServerAddress.find().url == URL
    write_setting(user_file(), "state_dir", str(tmp_path / "state"))
    assert value_of(STATE_FOLDER) == str(default_server_folder()) == str(tmp_path / "state")


def test_the_option_for_the_folder_comes_before_the_server_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOTET_TOKEN", "t" * 43)
    monkeypatch.setenv("MOTET_SERVER", "http://127.0.0.1:2")
    (tmp_path / "server.json").write_text(json.dumps({"url": URL, "pid": 1}))
    (tmp_path / TOKEN_FILE).write_text("t" * 43)
    assert ServerAddress.find(folder=tmp_path).url == URL
    assert ServerAddress.find().url == "http://127.0.0.1:2"
