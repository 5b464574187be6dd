"""Measured profiles: which measurement answers for which job, and files of the user's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from motet.domain.errors import BadInput
from motet.sim.profiles import MeasuredSpeeds, bundled_profiles, open_profiles
from motet.sim.profiles.reading import BUNDLED
from motet.sim.profiles.table import ModelName

HEADER = "model,type,gpus,beside,steps_per_s,spread_steps_per_s,gpu_busy,restart_s"


def written(folder: Path, *rows: str, header: str = HEADER) -> Path:
    path = folder / "mine.csv"
    path.write_text("\n".join(["# my own", header, *rows, ""]), encoding="utf-8")
    return path


def test_the_bundled_file_is_small_and_names_its_source() -> None:
    assert BUNDLED.stat().st_size < 200_000
    assert "MIT" in BUNDLED.read_text(encoding="utf-8").split("model,type")[0]
    assert BUNDLED.with_name("LICENSE-gavel.txt").is_file()


def test_a_model_is_matched_whatever_its_spelling_with_the_nearest_batch_size() -> None:
    table = bundled_profiles()
    assert table.named("ResNet-50 (batch size 32)") == ModelName("resnet50", 32)
    assert table.named("resnet50") == ModelName("resnet50", 64)
    assert table.named("resnet_50 (batch size 1000)") == ModelName("resnet50", 128)
    assert table.named("LM (batch size 30)") == ModelName("lm", 20)
    assert table.named("VGG19") is None


def test_gavels_batch_sizes_do_not_hide_tiresias_sizes() -> None:
    assert bundled_profiles().profile("ResNet-50 (batch size 64)").size_mb == 97.7


def test_a_gang_runs_as_fast_as_its_slowest_machine_allows() -> None:
    name = "ResNet-50 (batch size 64)"
    speeds = MeasuredSpeeds(bundled_profiles(), [name], ["V100", "p100", "K80"])
    assert speeds.relative(0, 1, [0]) == 1
    assert speeds.relative(0, 1, [1]) == pytest.approx(2.619 / 4.395)
    assert speeds.relative(0, 1, [0, 1, 2]) == speeds.relative(0, 1, [2])
    assert speeds.relative(0, 1, [2]) == pytest.approx(0.619 / 4.395)


def test_types_are_compared_with_gangs_of_one_size() -> None:
    speeds = MeasuredSpeeds(bundled_profiles(), ["ResNet-50 (batch size 128)"], ["V100", "K80"])
    # On K80 only a single GPU was measured.
    assert speeds.relative(0, 8, [1]) == pytest.approx(0.3472 / 2.497)


def test_an_unknown_model_is_as_fast_as_models_usually_are_on_that_type() -> None:
    speeds = MeasuredSpeeds(bundled_profiles(), ["mystery"], ["V100", "K80"])
    assert speeds.relative(0, 1, [0]) == 1
    assert speeds.relative(-1, 1, [1]) == speeds.relative(0, 1, [1])
    assert 0.1 < speeds.relative(0, 1, [1]) < 0.3


def test_an_unknown_type_runs_at_full_speed() -> None:
    speeds = MeasuredSpeeds(bundled_profiles(), ["A3C"], ["V100", "P100", "TPU"])
    assert speeds.relative(0, 1, [2]) == 1
    assert speeds.beside(0, 0, 1, [2]) is None


def test_two_jobs_share_gpus_as_the_pair_did() -> None:
    models = ["ResNet-50 (batch size 32)", "LM (batch size 5)", "VGG19"]
    speeds = MeasuredSpeeds(bundled_profiles(), models, ["V100", "gpu"])
    assert speeds.beside(0, 0, 1, [0]) == pytest.approx(2.852 / 7.787)
    assert speeds.beside(0, 2, 1, [0]) is None
    assert speeds.beside(0, 0, 1, [1]) is None


def test_a_pair_that_ran_out_of_memory_hardly_moves(tmp_path: Path) -> None:
    path = written(tmp_path, "A,V100,1,,10,,,", "A,V100,1,A,0,,,")
    assert MeasuredSpeeds(open_profiles(path), ["A"], ["V100"]).beside(0, 0, 4, [0]) == 0.01


def test_a_file_replaces_measurements_of_its_models_only(tmp_path: Path) -> None:
    path = written(tmp_path, "resnet-50,V100,4,,20,5,,", "vgg16,,,,,,0.5,12")
    table = open_profiles(path)
    speeds = MeasuredSpeeds(table, ["ResNet50", "VGG16", "A3C"], ["V100", "P100"])
    assert speeds.spread(0, 4, [0]) == 0.25
    assert speeds.gpu_busy(1, 32) == 0.5
    assert speeds.restart_s(1, 1) == 12
    assert table.named("ResNet-50 (batch size 64)") == ModelName("resnet50", 0)
    assert speeds.relative(2, 1, [1]) == pytest.approx(5.681 / 7.176, rel=1e-3)


def test_a_file_can_change_the_skew_of_a_model(tmp_path: Path) -> None:
    path = written(tmp_path, "MyNet,400,100", header="model,size_mb,largest_mb")
    assert open_profiles(path).profile("mynet").skew == 0.25


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        (",V100,1,,1,,,", "a row needs a model"),
        ("A,V100,1,,,,,", "steps_per_s is missing"),
        ("A,V100,1,,0,,,", "steps_per_s is 0"),
        ("A,V100,x,,1,,,", "gpus is 'x'"),
        ("A,V100,1.5,,1,,,", "whole number"),
        ("A,V100,1,,nan,,,", "steps_per_s is 'nan'"),
        ("A,V100,1,,1,,0.5,", "gpu_busy is of a model"),
        ("A,,1,,1,,,", "type is empty"),
        ("A,,1,,,,1.5,", "not above 1"),
        ("A,,,,,,,", "the row has no value"),
        ("A,V100,1,,1,,", "7 cells"),
    ],
)
def test_a_bad_row_is_named_with_its_line(tmp_path: Path, row: str, problem: str) -> None:
    path = written(tmp_path, "B,V100,1,,1,,,", row)
    with pytest.raises(BadInput, match=problem) as caught:
        open_profiles(path)
    assert f"{path}:4" in str(caught.value)


def test_a_line_end_in_a_cell_is_named_with_its_line(tmp_path: Path) -> None:
    path = written(tmp_path, "B,V100,1,,1,,,", '"A', '16",V100,1,,1,,,')
    with pytest.raises(BadInput, match="a cell holds a line end") as caught:
        open_profiles(path)
    assert f"{path}:5" in str(caught.value)


def test_an_unknown_column_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="steps_per_second"):
        open_profiles(written(tmp_path, header="model,steps_per_second"))
    with pytest.raises(BadInput, match="cannot be read"):
        open_profiles(tmp_path / "none.csv")
