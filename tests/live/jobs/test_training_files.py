"""Files of a training that are missing in folders of this computer."""

from __future__ import annotations

from pathlib import Path

import pytest

from motet.domain.errors import BadInput
from motet.live.jobs.job_file import job_spec
from motet.live.jobs.training_files import require_visible_files


def check(folder: Path, **files: str) -> None:
    values = {"name": "fit", "app": "mlr", "workdir": str(folder), "data": "digits", **files}
    require_visible_files(job_spec(values))


@pytest.mark.parametrize("key", ["data", "test", "exclude", "labels", "test_labels", "stop_words"])
@pytest.mark.parametrize("name", ["a.csv", "./a", "sub/a.csv", "a:b.csv", "a.d:x=1"])
def test_a_file_has_to_be_in_a_folder_that_is_here(key: str, name: str, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    with pytest.raises(BadInput, match=f"^{key}: .*a.*: no such file; check the path$"):
        check(tmp_path, **{key: name})
    (tmp_path / name).write_text("1,2")
    check(tmp_path, **{key: name})


def test_names_and_folders_of_other_computers_are_left_to_them(tmp_path: Path) -> None:
    check(tmp_path, data="digits:part=train", test="digits:part=test")
    check(tmp_path, data="synthetic-classification:rows=200,density=0.5")
    check(tmp_path, data="mounted-elsewhere/a.csv")
    check(tmp_path / "absent", data="a.csv")
    require_visible_files(job_spec({"name": "a", "run": "cat a.csv", "workdir": str(tmp_path)}))
