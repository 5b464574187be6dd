"""The wheel and the sdist: their files, and the wheel in an environment without any extra."""

from __future__ import annotations

import json
import os
import subprocess
import tarfile
import tomllib
import venv
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from email import message_from_bytes
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
SOURCE = REPOSITORY / "src"
CONSTRAINTS = REPOSITORY / "constraints.txt"

pytestmark = [pytest.mark.soak, pytest.mark.timeout(900)]


@dataclass(frozen=True)
class Environment:
    """A virtual environment that sees neither the checkout nor this environment."""

    folder: Path

    @classmethod
    def of(cls, folder: Path, *requirements: str) -> Environment:
        """A fresh one; pip takes the pinned versions from its configured indexes."""
        venv.create(folder, with_pip=True)
        made = cls(folder)
        pins = f"--constraint={CONSTRAINTS}"
        pip = ("-m", "pip", "install", "--quiet", "--no-compile", "--only-binary=:all:", pins)
        made.run("python", *pip, *requirements)
        return made

    def run(self, program: str, *arguments: str, cwd: Path | None = None) -> str:
        """What an installed program prints; its error output is in the failure."""
        command = [str(self.folder / "bin" / program), *arguments]
        done = subprocess.run(
            command, cwd=cwd or self.folder, env=_clean(os.environ), capture_output=True, text=True
        )
        assert done.returncode == 0, f"{command}:\n{done.stdout}\n{done.stderr}"
        return done.stdout


def _clean(variables: Mapping[str, str]) -> dict[str, str]:
    """Without what would let the checkout stand in for the installed package."""
    return {name: text for name, text in variables.items() if not name.startswith("PYTHON")}


@pytest.fixture(scope="module")
def builder(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """With the build backend that pyproject.toml names, pinned."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    return Environment.of(tmp_path_factory.mktemp("builder"), *project["build-system"]["requires"])


@pytest.fixture(scope="module")
def sdist(builder: Environment, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _build(builder, REPOSITORY, "sdist", tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="module")
def wheel(builder: Environment, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _build(builder, REPOSITORY, "wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """The wheel and its dependencies, no extra."""
    return Environment.of(tmp_path_factory.mktemp("installed"), str(wheel))


def _build(builder: Environment, project: Path, target: str, into: Path) -> Path:
    builder.run("python", "-m", "hatchling", "build", "-t", target, "-d", str(into), cwd=project)
    (built,) = into.iterdir()
    return built


def _contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _compiled(path: Path) -> bool:
    """Bytecode, kernels, and the marks of policies whose kernels are compiled."""
    return path.parent.name == "__pycache__"


def test_the_wheel_has_every_file_of_the_package(wheel: Path) -> None:
    contents = _contents(wheel)
    packaged = {name: data for name, data in contents.items() if ".dist-info/" not in name}
    files = [path for path in SOURCE.rglob("*") if path.is_file() and not _compiled(path)]
    assert packaged == {path.relative_to(SOURCE).as_posix(): path.read_bytes() for path in files}
    assert {"motet/py.typed", "motet/sim/profiles/measured.csv"} <= set(packaged)
    assert any(name.startswith("motet/sim/curves/") for name in packaged)


def test_the_sdist_builds_the_same_wheel(
    builder: Environment, sdist: Path, wheel: Path, tmp_path: Path
) -> None:
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    (project,) = tmp_path.iterdir()
    again = _build(builder, project, "wheel", tmp_path / "dist")
    assert _contents(again) == _contents(wheel)


def test_the_sdist_has_the_tests_and_only_top_level_documents(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
    assert "tests/packaging/test_distributions.py" in names
    folders = {name.partition("/")[0] for name in names if "/" in name}
    assert folders == {"src", "tests"}


def test_only_the_extras_require_ray_and_torch(wheel: Path) -> None:
    (metadata,) = [data for name, data in _contents(wheel).items() if name.endswith("/METADATA")]
    message = message_from_bytes(metadata)
    required = message.get_all("Requires-Dist", [])
    assert {"cluster", "torch"} <= set(message.get_all("Provides-Extra", []))
    assert [each for each in required if each.startswith(("ray", "torch"))] == [
        "ray>=2.50; extra == 'cluster'",
        "torch>=2.5; extra == 'torch'",
    ]


def test_the_wheel_simulates_and_trains_without_ray_and_torch(
    installed: Environment, tmp_path: Path
) -> None:
    absent = "import importlib.util as u; print([u.find_spec(n) for n in ('ray', 'torch')])"
    assert installed.run("python", "-c", absent) == "[None, None]\n"
    where = installed.run("python", "-c", "import motet; print(motet.__file__)")
    assert Path(where.strip()).is_relative_to(installed.folder)
    assert installed.run("motet", "--version").startswith("motet ")

    replay = ("simulate", "--trace", "tiresias-480", "--cluster", "15x4", "--policy", "fifo")
    simulated = json.loads(installed.run("motet", *replay, "--json", cwd=tmp_path))
    assert simulated["runs"][0]["finished"] == 480

    recipe = ("train", "lasso", "--data", "diabetes", "--workers", "2", "--servers", "1")
    trained = json.loads(installed.run("motet", *recipe, "--json", cwd=tmp_path))
    assert trained["metrics"]["objective"] < trained["loss"][0]


def test_elastic_jobs_find_their_bundled_curves(installed: Environment, tmp_path: Path) -> None:
    installed.run("motet", "trace", "generate", "jobs.csv", "--mix", "optimus-50", cwd=tmp_path)
    described = json.loads(
        installed.run("motet", "trace", "describe", "jobs.csv", "--json", cwd=tmp_path)
    )
    assert described["elastic"]["with_curve"] == described["jobs"] == 50
