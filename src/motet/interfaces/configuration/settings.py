"""Settings of commands: from the environment, the file of a project, or that of the user.

Options of a command come before all of them.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from platformdirs import user_config_path

from motet.domain.errors import BadInput, UnknownName

PROJECT_FILE = "motet.toml"
_LARGEST_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Setting:
    """`variable`: of the environment. `is_of_projects`: whether the file of a project may have it;
    a file that others may have written must not choose where a user's token is sent."""

    key: str
    variable: str
    is_of_projects: bool = False


SERVER = Setting("server", "MOTET_SERVER")
STATE_FOLDER = Setting("state_dir", "MOTET_STATE_DIR")
CA_FILE = Setting("ca_file", "MOTET_CA_FILE")
QUEUE = Setting("queue", "MOTET_QUEUE", is_of_projects=True)
SETTINGS: Mapping[str, Setting] = {
    each.key: each for each in (SERVER, STATE_FOLDER, CA_FILE, QUEUE)
}


@dataclass(frozen=True, slots=True)
class Chosen:
    """A value, and the variable or file that it comes from."""

    value: str
    source: str


def user_file() -> Path:
    """The file of the user."""
    return user_config_path("motet") / "config.toml"


def chosen(setting: Setting) -> Chosen | None:
    """The value in force; None: none is chosen. Raises BadInput for a file that is wrong."""
    if value := os.environ.get(setting.variable):
        return Chosen(value, setting.variable)
    for path, is_of_project in _files():
        if is_of_project and not setting.is_of_projects:
            continue
        if value := settings_of_file(path, is_of_project=is_of_project).get(setting.key):
            return Chosen(value, str(path))
    return None


def value_of(setting: Setting) -> str | None:
    """The value alone. Raises what `chosen` raises."""
    found = chosen(setting)
    return None if found is None else found.value


def settings_of_file(path: Path, *, is_of_project: bool = False) -> dict[str, str]:
    """The settings of a file; none if it does not exist. Raises BadInput."""
    text = _text(path)
    try:
        found = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{path}: not TOML ({error}); write lines 'server = \"URL\"'") from None
    for key, value in found.items():
        if key not in SETTINGS:
            raise BadInput(f"{path}: {UnknownName('key', key[:80], SETTINGS)}")
        if is_of_project and not SETTINGS[key].is_of_projects:
            raise BadInput(
                f"{path}: {key} is not read from the file of a folder, which may be another "
                f"user's; write it into {user_file()}: motet config set {key} VALUE"
            )
        if not isinstance(value, str):
            raise BadInput(f'{path}: {key}: a text, as {key} = "..."')
    return found


def write_setting(path: Path, key: str, value: str | None) -> None:
    """Set a key of a file, or remove it (None); other lines stay. Raises BadInput."""
    settings_of_file(path)
    lines = [line for line in _text(path).splitlines() if not re.match(rf'\s*"?{key}"?\s*=', line)]
    if value is not None:
        lines.append(f"{key} = {json.dumps(value, ensure_ascii=False)}")
    partial = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        raise BadInput(f"{path}: cannot be written ({error.strerror})") from error


def _files() -> Iterator[tuple[Path, bool]]:
    """The nearest file of a project, then that of the user; whether it is of a project."""
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (path := folder / PROJECT_FILE).is_file():
            yield path, True
            break
    yield user_file(), False


def _text(path: Path) -> str:
    """Empty if the file does not exist. Raises BadInput."""
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST_BYTES + 1)
        if len(content) > _LARGEST_BYTES:
            raise BadInput(f"{path}: larger than {_LARGEST_BYTES:,} bytes")
        return content.decode()
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: not text in UTF-8") from error
