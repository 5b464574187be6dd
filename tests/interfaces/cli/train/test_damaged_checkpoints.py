"""`--resume` from damaged checkpoints: never a wrong model, never a traceback, always a line."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from checkpoint_damage import DAMAGES, FILES, Damage, flipped
from in_process_cluster import InProcessCluster
from motet.apps import load_application
from motet.datasets import open_dataset
from motet.domain.errors import BadInput
from motet.interfaces.cli.screens.run_log import RunLog
from motet.interfaces.cli.screens.train import LineProgress
from motet.interfaces.cli.train.request import TrainFlags, check_request
from motet.report.training.folder import RunFolder
from motet.runtime.controller.checkpoints.identity import state_digest
from motet.runtime.controller.job import Job
from motet.runtime.core.options import TrainOptions
from soak_cases import others_in_soak

CASES = [(each.do, each.problem) for each in DAMAGES]
OLDER, NEWER = "epoch-000002", "epoch-000004"
DATA = "synthetic-ratings:users=100,items=40,density=0.3"


@dataclass
class KilledRun:
    """A run of NMF, whose users' factors are state of the instances, with two checkpoints."""

    out: Path
    remarks: list[str]

    @property
    def newer(self) -> Path:
        return self.out / "checkpoints" / NEWER

    def resumed(self) -> str:
        """The digest of what `motet train --resume` would continue from."""
        flags = TrainFlags("nmf", DATA, epochs=6, settings=("rank=2",), resume=True, out=self.out)
        self.remarks.clear()
        progress = LineProgress(RunLog(None, echo_remark=self.remarks.append))
        request = check_request(flags, RunFolder(self.out), progress)
        assert request.resumed is not None
        return state_digest(request.resumed)

    def restore(self, from_folder: Path) -> None:
        shutil.rmtree(self.out / "checkpoints")
        shutil.copytree(from_folder, self.out / "checkpoints")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("run")
    app: Any = load_application("nmf")(rank=2, epochs=4, random_state=0)
    rows = app.prepare(open_dataset(DATA, kind="ratings"), 0)
    folder = RunFolder(out).checkpoint_folder
    options = TrainOptions(
        machines=1, workers=1, servers=1, epochs=4, checkpoint_every=2, checkpoint_dir=folder
    )
    Job(app, rows, options, InProcessCluster(1)).run()
    return out


@pytest.fixture(scope="module")
def digests(trained: Path) -> dict[str, str]:
    """Of the whole checkpoints."""
    run = KilledRun(trained, [])
    newer = run.resumed()
    aside = run.newer.rename(trained / "aside")
    older = run.resumed()
    aside.rename(run.newer)
    assert older != newer
    return {OLDER: older, NEWER: newer}


@pytest.fixture
def run(trained: Path, tmp_path: Path) -> KilledRun:
    shutil.copytree(trained, tmp_path / "run")
    return KilledRun(tmp_path / "run", [])


@pytest.mark.parametrize(("damage", "problem"), others_in_soak(CASES, CASES[::5]))
def test_a_damaged_checkpoint_is_passed_over_with_a_line(
    run: KilledRun, digests: dict[str, str], damage: Damage, problem: str
) -> None:
    damage(run.newer)
    assert run.resumed() == digests[OLDER]
    (line,) = run.remarks
    assert line.startswith(f"damaged checkpoint {NEWER}: ")
    assert problem in line
    assert line.endswith(f"; passed over, {OLDER} is used")
    assert len(line) < 500


def test_there_are_a_hundred_damages() -> None:
    assert len(DAMAGES) >= 100


@pytest.mark.parametrize("flips", [20, pytest.param(2000, marks=pytest.mark.soak)])
@pytest.mark.timeout(600)
def test_a_flipped_bit_never_gives_a_wrong_model(
    run: KilledRun, digests: dict[str, str], flips: int
) -> None:
    rng = np.random.default_rng(flips)
    for number in range(flips):
        path = run.newer / FILES[number % len(FILES)]
        content = path.read_bytes()
        path.write_bytes(flipped(content, int(rng.integers(8 * len(content)))))
        assert run.resumed() == digests[OLDER]
        assert len(run.remarks) == 1
        path.write_bytes(content)
    assert run.resumed() == digests[NEWER]


def test_without_a_whole_checkpoint_the_run_is_refused(run: KilledRun) -> None:
    for name in (OLDER, NEWER):
        (run.out / "checkpoints" / name / "manifest.json").write_bytes(b"")
    with pytest.raises(BadInput, match=r"no checkpoint is whole: .*; give --overwrite"):
        run.resumed()
