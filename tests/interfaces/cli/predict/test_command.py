"""`motet predict`: a CSV table of what a trained model says of other data."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import motet
from marked_process import Ended, run_motet
from motet.datasets import open_dataset
from motet.domain.errors import BadInput


def rows_of(ended: Ended) -> list[list[str]]:
    assert ended.code == 0, ended.err
    return list(csv.reader(io.StringIO(ended.out)))


@pytest.fixture(scope="module")
def wine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("wine") / "model.npz"
    motet.MLR(epochs=2).fit(open_dataset("wine")).save(path)
    return path


def test_a_row_holds_what_predict_returns(wine: Path) -> None:
    header, *rows = rows_of(run_motet("predict", wine, "--data", "wine"))
    expected = motet.load_model(wine).predict(open_dataset("wine").features)
    assert header == ["prediction"]
    assert [float(row[0]) for row in rows] == expected.tolist()


def test_a_table_without_the_target_is_written_to_a_file(wine: Path, tmp_path: Path) -> None:
    features = open_dataset("wine").features
    np.savetxt(tmp_path / "new.csv", features, delimiter=",")
    out = tmp_path / "predicted.csv"
    ended = run_motet("predict", wine, "--data", tmp_path / "new.csv", "--out", out)
    assert (ended.code, ended.out) == (0, "")
    assert ended.err == f"{len(features)} rows of predictions in {out}\n"
    assert len(out.read_text().splitlines()) == 1 + len(features)


def test_a_file_is_replaced_only_if_asked_for(wine: Path, tmp_path: Path) -> None:
    out = tmp_path / "predicted.csv"
    out.write_text("mine")
    given = ("predict", wine, "--data", "wine", "--out", out)
    refused = run_motet(*given)
    assert (refused.code, out.read_text()) == (2, "mine")
    assert f"--out {out}: exists; name another file, or add --overwrite" in refused.err
    assert run_motet(*given, "--overwrite").code == 0
    assert out.read_text().startswith("prediction\n")


@pytest.mark.parametrize("out", [(), ("--out", "-")])
def test_standard_output_is_not_replaced(wine: Path, out: tuple[str, ...]) -> None:
    refused = run_motet("predict", wine, "--data", "wine", "--overwrite", *out)
    assert (refused.code, refused.out) == (2, "")
    assert "--overwrite needs --out FILE, the file to replace" in refused.err


def test_a_dash_is_standard_output(
    wine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "-").write_text("mine")
    given = ("predict", wine, "--data", "wine")
    to_dash = run_motet(*given, "--out", "-")
    assert to_dash == run_motet(*given)
    assert to_dash.err == ""
    assert len(rows_of(to_dash)) == 1 + len(open_dataset("wine").features)
    assert (tmp_path / "-").read_text() == "mine"


def test_probabilities_of_classes_are_columns_of_their_own(wine: Path, tmp_path: Path) -> None:
    (tmp_path / "model.npz").write_bytes(wine.read_bytes())
    header, *rows = rows_of(run_motet("predict", tmp_path, "--data", "wine", "--proba"))
    model, features = motet.load_model(tmp_path), open_dataset("wine").features
    assert header == ["prediction", *(f"probability_{each}" for each in model.classes_)]
    cells = np.array(rows, dtype=float)
    assert cells[:, 0].tolist() == model.predict(features).tolist()
    np.testing.assert_allclose(cells[:, 1:], model.predict_proba(features), rtol=1e-12)


def test_models_without_probabilities_refuse_to_give_some(tmp_path: Path) -> None:
    motet.LinearRegression().fit(open_dataset("diabetes")).save(tmp_path / "model.npz")
    ended = run_motet("predict", tmp_path, "--data", "diabetes", "--proba")
    assert (ended.code, ended.out) == (2, "")
    assert "--proba: linear_regression gives no probabilities of classes" in ended.err


def test_a_folder_without_a_model_is_explained(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"a folder without model\.npz, which 'motet train"):
        motet.load_model(tmp_path)


def test_a_column_too_many_is_explained(wine: Path, tmp_path: Path) -> None:
    np.savetxt(tmp_path / "new.csv", np.ones((3, 14)), delimiter=",")
    ended = run_motet("predict", wine, "--data", tmp_path / "new.csv")
    assert ended.code == 2
    assert "14 features" in ended.err


def test_ratings_are_by_user_and_item(tmp_path: Path) -> None:
    ratings = open_dataset("digits-ratings:part=test")
    model = motet.NMF(rank=2, epochs=1).fit(ratings)
    model.save(tmp_path / "model.npz")
    ended = run_motet("predict", tmp_path / "model.npz", "--data", "digits-ratings:part=test")
    header, first, *_ = rows_of(ended)
    assert header == ["user", "item", "prediction"]
    user, item = int(first[0]), int(first[1])
    assert float(first[2]) == pytest.approx(model.predict([(user, item)])[0])


PAIRS = "city,member,film\nx,ann,Alien\ny,bob,Ran\nx,ann,Alien\nz,zoe,Ran\n"


def test_users_and_items_need_no_ratings(tmp_path: Path) -> None:
    frame = pd.DataFrame({"user": ["ann", "bob"], "item": ["Alien", "Ran"], "rating": [5, 2]})
    model = motet.NMF(rank=2, epochs=1).fit(frame)
    model.save(tmp_path / "model.npz")
    (tmp_path / "pairs.csv").write_text(PAIRS)
    header, *rows = rows_of(
        run_motet("predict", tmp_path / "model.npz", "--data", tmp_path / "pairs.csv")
    )
    pairs = [["ann", "Alien"], ["bob", "Ran"], ["ann", "Alien"], ["zoe", "Ran"]]
    assert header == ["user", "item", "prediction"]
    assert [row[:2] for row in rows] == pairs
    with pytest.warns(UserWarning, match="1 of 4 predictions is the mean"):
        expected = model.predict(pairs).tolist()
    assert [float(row[2]) for row in rows] == expected


def test_users_and_items_without_ratings_train_nothing(tmp_path: Path) -> None:
    (tmp_path / "pairs.csv").write_text(PAIRS)
    with pytest.raises(
        BadInput,
        match="the header names no rating",
    ):
        open_dataset(tmp_path / "pairs.csv", kind="ratings")


def test_a_model_that_is_no_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model.npz").write_text("no")
    ended = run_motet("predict", tmp_path / "model.npz", "--data", "wine")
    assert ended.code == 2
    assert "not a model that Motet saved" in ended.err


def test_columns_are_found_by_their_names(wine: Path, tmp_path: Path) -> None:
    """Also the target is left out, which the model does not know."""
    data = open_dataset("wine")
    assert data.feature_names is not None
    assert data.target is not None
    table = np.column_stack([data.target, np.asarray(data.features)[:, ::-1]])
    header = ",".join(["label", *reversed(data.feature_names)])
    np.savetxt(tmp_path / "new.csv", table, delimiter=",", header=header, comments="")
    _, *rows = rows_of(run_motet("predict", wine, "--data", tmp_path / "new.csv"))
    expected = motet.load_model(wine).predict(data.features)
    assert [float(row[0]) for row in rows] == expected.tolist()


def test_names_that_training_did_not_have_are_noted_once(tmp_path: Path) -> None:
    X, y = [[1.0, 2.0], [3.0, 4.0], [5.0, 5.0], [7.0, 9.0]], [1.0, 2.0, 3.0, 5.0]
    motet.LinearRegression().fit(X, y).save(tmp_path / "model.npz")
    named, unnamed = tmp_path / "named.csv", tmp_path / "unnamed.csv"
    named.write_text("b,a\n1,2\n3,4\n")
    unnamed.write_text("1,2\n3,4\n")
    noted, silent = (run_motet("predict", tmp_path, "--data", it) for it in (named, unnamed))
    assert noted.err == (
        f"{named} has feature names, but LinearRegression was fitted without; its columns are "
        "taken in their order, which nothing can check\n"
    )
    assert rows_of(silent) == rows_of(noted)
    assert silent.err == ""


def test_columns_that_the_model_does_not_use_are_not_read(tmp_path: Path) -> None:
    data = tmp_path / "new.csv"
    data.write_text("name,b,a,kind\nann,2,1,x\nbob,4,3,y\ncid,6,5,\n")
    frame = pd.DataFrame({"a": [1.0, 3.0, 5.0, 7.0], "b": [2.0, 4.0, 5.0, 9.0]})
    model = motet.LinearRegression().fit(frame, [1.0, 2.0, 3.0, 5.0])
    model.save(tmp_path / "model.npz")
    header, *rows = rows_of(run_motet("predict", tmp_path, "--data", data))
    assert header == ["prediction"]
    wanted = model.predict(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
    assert [float(row[0]) for row in rows] == pytest.approx(wanted)


def test_a_lack_of_a_column_is_reported_before_unused_columns_are_read(tmp_path: Path) -> None:
    data = tmp_path / "new.csv"
    data.write_text("name,a\nann,1\nbob,3\n")
    frame = pd.DataFrame({"a": [1.0, 3.0, 5.0, 7.0], "b": [2.0, 4.0, 5.0, 9.0]})
    motet.LinearRegression().fit(frame, [1.0, 2.0, 3.0, 5.0]).save(tmp_path / "model.npz")
    ended = run_motet("predict", tmp_path, "--data", data)
    assert ended.code == 2
    assert "no column 'b', which the training data has (1 of 2 are missing)" in ended.err


def test_json_holds_a_line_per_row_and_what_was_predicted_from_what(wine: Path) -> None:
    ended = run_motet("predict", wine, "--data", "wine", "--json")
    document = json.loads(ended.out)
    expected = motet.load_model(wine).predict(open_dataset("wine").features).tolist()
    assert [row["prediction"] for row in document.pop("predictions")] == expected
    assert document == {"app": "mlr", "data": "wine", "rows": len(expected)}
    assert sum('"prediction"' in line for line in ended.out.splitlines()) == len(expected)


def test_json_of_text_labels_is_text_and_goes_to_a_file(tmp_path: Path) -> None:
    labels = ["=1", "\N{SNOWMAN}\x9b"] * 2
    motet.MLR(epochs=1).fit([[0.0], [1.0]] * 2, labels).save(tmp_path / "model.npz")
    (tmp_path / "new.csv").write_text("x\n0\n1\n")
    written = ("--data", tmp_path / "new.csv", "--out", tmp_path / "predicted.json", "-o", "json")
    assert run_motet("predict", tmp_path / "model.npz", *written).code == 0
    text = (tmp_path / "predicted.json").read_text()
    assert [row["prediction"] for row in json.loads(text)["predictions"]] == labels[:2]
    assert "\x9b" not in text


def test_the_vocabulary_of_the_model_decides_in_new_texts(tmp_path: Path) -> None:
    sea, land = "whale ship ocean", "horse field barn"
    train = tmp_path / "train.txt"
    train.write_text("\n".join([sea, land] * 10))
    motet.LDA(topics=2, epochs=50, tol=0).fit(open_dataset(train, kind="corpus")).save(
        tmp_path / "model.npz"
    )
    new = tmp_path / "new.txt"
    shares = {}
    for text in (f"{sea}\nzebra zebra\n{land}\n", f"{sea}\n", f"{land} zebra\n"):
        new.write_text(text)
        _, *rows = rows_of(run_motet("predict", tmp_path / "model.npz", "--data", new))
        assert len(rows) == text.count("\n")
        for line, row in zip(text.splitlines(), rows, strict=True):
            shares.setdefault(line.removesuffix(" zebra"), []).append([float(x) for x in row])
    assert shares[sea][0] == shares[sea][1]
    assert shares[land][0] == shares[land][1]
    assert shares["zebra"][0] == [0.5, 0.5]
    assert max(shares[sea][0]) > 0.8  # (3 + 0.5) of (3 + 1) by the prior


def test_rows_with_missing_values_keep_their_place(tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(20, 2))
    frame = pd.DataFrame(X, columns=["a", "b"])
    model = motet.MLR().fit(frame, np.where(X[:, 0] > 0, "up", "down"))
    model.save(tmp_path / "model.npz")
    frame.loc[3, "b"] = np.nan
    frame.to_csv(tmp_path / "new.csv", index=False)
    given = ("predict", tmp_path / "model.npz", "--data", tmp_path / "new.csv")
    ended = run_motet(*given, "--drop", "missing-rows", "--proba")
    header, *rows = rows_of(ended)
    assert header == ["prediction", "probability_down", "probability_up"]
    assert rows[3] == ["", "", ""]
    whole = frame.drop(index=3)
    assert [row[0] for at, row in enumerate(rows) if at != 3] == model.predict(whole).tolist()
    assert "1 of 20 rows lacks values (--drop missing-rows): its prediction is empty" in ended.err
    as_json = run_motet(*given, "--drop", "missing-rows", "--json")
    assert json.loads(as_json.out)["predictions"][3] == {"prediction": None}


def test_predictions_for_unknown_users_and_items_are_counted(tmp_path: Path) -> None:
    known = pd.DataFrame(
        {"user": ["00097", "b", "b"], "item": ["x", "x", "y"], "rating": [4, 2, 1]}
    )
    motet.NMF(rank=1, epochs=2).fit(known).save(tmp_path / "model.npz")
    (tmp_path / "pairs.csv").write_text("user,item\n00097,x\n97,x\nb,z\n")
    data = tmp_path / "pairs.csv"
    ended = run_motet("predict", tmp_path / "model.npz", "--data", data)
    assert [row[:2] for row in rows_of(ended)[1:]] == [["00097", "x"], ["97", "x"], ["b", "z"]]
    assert "2 of 3 predictions are the mean of the training ratings" in ended.err
    assert "Warning" not in ended.err
