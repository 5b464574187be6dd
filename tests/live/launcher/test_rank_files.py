"""Files of the processes of an attempt."""

from __future__ import annotations

import os
from pathlib import Path

from motet.domain.units import SECOND_US
from motet.live.launcher.rank_files import checkpoint_writes_us


def test_writes_are_those_of_all_files_in_the_folder(tmp_path: Path) -> None:
    assert checkpoint_writes_us(tmp_path / "missing") == []
    (tmp_path / "deep").mkdir()
    for name, at_s in (("last.pt", 2000), ("deep/shard", 3000)):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (at_s, at_s))
    os.utime(tmp_path / "deep", (1000, 1000))
    assert checkpoint_writes_us(tmp_path) == [at_s * SECOND_US for at_s in (1000, 2000, 3000)]
