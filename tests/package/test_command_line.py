import json
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from keras_softsets import scores
from keras_softsets.__main__ import main
from keras_softsets.cli import arguments, tables
from keras_softsets.cli.features import features_of, inputs_of, preprocessing
from keras_softsets.cli.tables import kind_of, labels_of, split


def write(path, columns):
    rows = zip(*columns.values())
    path.write_text("\n".join(",".join(map(str, row)) for row in [columns, *rows]) + "\n")
    return str(path)


def customers(rows=240):
    rng = np.random.default_rng(0)
    age, city = rng.normal(40, 10, rows).round(1), rng.choice(["Rome", "Oslo", "Lima"], rows)
    churned = np.where(age + 8 * (city == "Rome") + rng.normal(0, 5, rows) > 48, "yes", "no")
    known = np.where(rng.random(rows) < 0.1, "", age.astype(str))
    return {"customer_id": range(rows), "age": known, "city": city, "churned": churned}


def told(capsys, *given):
    code = main(list(given))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_from_a_table_to_a_report_and_a_classifier(tmp_path, capsys):
    table = write(tmp_path / "customers.csv", {**customers(), "country": ["Peru"] * 240})
    output = tmp_path / "output"
    options = ("--label", "churned", "--seeds", "1", "--epochs", "2", "--output", str(output))
    code, out, err = told(capsys, "compare", table, *options)
    assert code == 0
    assert "Column customer_id looks like an id" in err
    assert "Column country is constant" in err
    assert "Labels: 0 is no, 1 is yes." in out
    assert "<table>" in (output / "report.html").read_text()
    assert json.loads((output / "labels.json").read_text()) == {"0": "no", "1": "yes"}
    served = tf.saved_model.load(str(output / "classifier" / "1")).signatures["serving_default"]
    columns = {"age": tf.constant([[70.0], [float("nan")]]), "city": tf.constant([["Rome"], ["Atlantis"]])}
    answer = served(**columns)
    assert answer["label"].shape == (2, 1)
    assert np.isfinite(answer["probability"].numpy()).all()


@pytest.mark.usefixtures("eagerly")
def test_costs_instead_of_a_score(tmp_path, capsys):
    y, p = [0, 0, 0, 1] * 25, [0.125, 0.25, 0.5, 0.375] * 25
    table = write(tmp_path / "predictions.csv", {"label": y, "probability": p})
    _, out, _ = told(capsys, "tune", table, "--costs", "0 1 50 0")
    assert "Threshold 0.3125: cost -0.250 [" in out
    assert "At 0.5: cost -12.750 [" in out
    table = write(tmp_path / "three.csv", {"label": [0, 1, 2] * 40, "x": np.arange(120) / 7, "u": [1, 2] * 60})
    options = ("--label", "label", "--costs", "0,1,9, 1,0,9, 1,1,0", "--seeds", "1", "--epochs", "1")
    code, out, _ = told(capsys, "compare", table, *options, "--output", str(tmp_path / "o"))
    assert code == 0
    assert "multiclass_cost, tuned" in out
    for text in ("0 1 50", "0 a 1 0", "7", "0 1 nan 0"):
        with pytest.raises(SystemExit):
            main(["tune", table, "--costs", text])
        assert "must be a number for each pair of labels" in capsys.readouterr().err


@pytest.mark.usefixtures("eagerly")
def test_ordered_classes_with_kappa(tmp_path, capsys):
    rng = np.random.default_rng(0)
    x = rng.normal(size=200).round(3)
    grade = np.clip(np.round(x * 2 + 10), 9, 11).astype(int)
    table = write(tmp_path / "grades.csv", {"x": x, "grade": grade})
    options = ("--label", "grade", "--score", "kappa", "--seeds", "1", "--epochs", "1", "--output", str(tmp_path / "o"))
    code, out, _ = told(capsys, "compare", table, *options)
    assert code == 0
    assert "Labels: 0 is 9, 1 is 10, 2 is 11." in out  # by size, not by letters


def test_the_best_threshold_of_any_models_predictions(tmp_path, capsys):
    y, p = [0, 0, 1, 1] * 25, [0.125, 0.5, 0.375, 0.75] * 25
    table = write(tmp_path / "predictions.csv", {"label": y, "probability": p})
    code, out, _ = told(capsys, "tune", table, "--output", str(tmp_path / "curve.csv"))
    assert code == 0
    assert "Threshold 0.25: f1 0.800 [" in out
    assert "At 0.5: f1 0.500 [" in out
    assert "few" not in out
    assert (tmp_path / "curve.csv").read_text().splitlines()[0] == "threshold,f1"
    _, out, _ = told(capsys, "tune", table, "--score", "precision", "--at-least", "recall=0.95")
    assert "Threshold 0.25: precision 0.667" in out
    assert "recall 1.000" in out
    few = write(tmp_path / "few.csv", {"y": ["no", "no", "yes"], "p": [0.1, 0.2, 0.7]})
    code, out, _ = told(capsys, "tune", few, "--label", "y", "--probability", "p")
    assert "Only 1 positive: " in out


MISTAKES = {
    "wrong label": (
        customers(),
        ["--label", "churn"],
        "`label` must be one of the columns, such as churned",
    ),
    "one class": ({**customers(), "churned": ["no"] * 240}, [], "`label` must have two or more values"),
    "ten rows": (customers(10), [], "`table` must have at least 50 rows"),
    "rare class": ({**customers(), "churned": ["no"] * 237 + ["yes"] * 3}, [], "in at least 5 rows"),
    "no label": ({**customers(), "churned": ["no", "yes"] * 119 + ["", "no"]}, [], "`label` must have a value in each"),
    "a number": ({**customers(), "churned": np.arange(240) / 7}, [], "`label` must have at most 100 values"),
    "positive": (customers(), ["--positive", "maybe"], "`positive` must be a value of churned: no, yes"),
    "dates": ({**customers(), "since": ["2024-01-31"] * 239 + ["2023-01-01"]}, [], "with --drop since"),
    "group": (customers(), ["--group", "shop"], "`group` must be one of the columns"),
    "groups": ({**customers(), "shop": ["a", "b"] * 120}, ["--group", "shop"], "too few groups"),
    "nothing": ({"x": [1] * 240, "churned": ["no", "yes"] * 120}, [], "a column to learn from"),
    "accuracy": (
        {**customers(), "churned": ["no", "yes", "none"] * 80},
        ["--score", "accuracy"],
        "multiclass_accuracy",
    ),
    "output": (customers(), ["--output", __file__], "`output` must be a folder"),
    "rows": (customers(0), [], "`table` must have rows below its header"),
    "kappa": (customers(), ["--score", "kappa"], "must be cohen_kappa for 2 classes"),
    "drop": (customers(), ["--drop", "churned"], "`drop` must be a column besides the label"),
    "costs": (customers(), ["--costs", "0 1 2 1 0 1 2 1 0"], "`costs` must have 4 numbers for the labels no, yes"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_get_a_sentence(name, tmp_path, capsys):
    columns, options, message = MISTAKES[name]
    options = options if "--label" in options else ["--label", "churned", *options]
    code, _, err = told(capsys, "compare", write(tmp_path / "table.csv", columns), *options)
    assert code == 2
    assert message in err
    assert len(err.strip().splitlines()[-1]) < 400


def test_files_that_are_none_or_too_large(tmp_path, capsys, monkeypatch):
    assert "does not exist" in told(capsys, "compare", str(tmp_path / "no.csv"), "--label", "y")[2]
    monkeypatch.setattr(tables, "MOST_BYTES", 10)
    table = write(tmp_path / "large.csv", customers())
    assert "because it is read whole" in told(capsys, "compare", table, "--label", "churned")[2]
    monkeypatch.undo()
    (tmp_path / "odd.csv").write_text("a,b\n1,2\n1,2,3\n")
    assert "row 3: 3 fields" in told(capsys, "tune", str(tmp_path / "odd.csv"))[2]
    (tmp_path / "image.csv").write_bytes(bytes(range(256)))
    assert told(capsys, "tune", str(tmp_path / "image.csv"))[0] == 2
    table = write(tmp_path / "logits.csv", {"label": [0, 1], "probability": [-3.0, 2.0]})
    assert "`probability` must be a column of numbers from 0 to 1" in told(capsys, "tune", table)[2]


def test_a_header_with_a_line_break_two_equal_names_or_another_separator(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text('x,"the\ncity"\n1,"Bad\nHomburg"\n')
    assert tables.read_table(str(path)) == {"x": ["1"], "the\ncity": ["Bad\nHomburg"]}
    for text, message in (("a,b,a\n1,2,3\n", "'a' twice"), ("a|b\n1|2\n", "commas, semicolons or tabs")):
        path.write_text(text)
        with pytest.raises(ValueError, match=message):
            tables.read_table(str(path))


def test_a_column_of_many_texts_makes_at_most_a_hundred_features():
    texts = [f"shop {k % 150}" for k in range(1500)] + ["shop 120"] * 5
    inputs = inputs_of({"shop": texts}, {"shop": "category"})
    columns = preprocessing(inputs, {"shop": "category"}, np.arange(len(texts)))
    features = features_of(columns, inputs)
    assert features.shape[1] == tables.MOST_CATEGORIES + 1  # and one for all others
    assert features[texts.index("shop 120"), 0] == 0 < features[texts.index("shop 99"), 0]


def test_decimal_commas_windows_line_ends_and_a_byte_order_mark(tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes(b'\xef\xbb\xbfsize;"a;b";city\r\n1,5;x,1;Rome\r\n-2;"y;\r\nz";\r\n?;;Oslo\r\n')
    expected = {"size": ["1.5", "-2", "?"], "a;b": ["x,1", "y;\r\nz", ""], "city": ["Rome", "", "Oslo"]}
    assert tables.read_table(str(path)) == expected


def test_a_probability_of_three_classes_needs_the_positive_one(tmp_path, capsys):
    table = write(tmp_path / "three.csv", {"label": ["a", "b", "none"] * 20, "probability": [0.1, 0.8, 0.3] * 20})
    assert "`label` must have two values" in told(capsys, "tune", table)[2]
    assert "Positive is 'b': 20 of 60 rows." in told(capsys, "tune", table, "--positive", "b")[1]


def test_columns_whose_names_are_alike_stay_apart():
    table = {"a b": ["1", "2"], "a-b": ["3", "4"], "text": ["", "?"]}
    inputs = inputs_of(table, {"a b": "number", "a-b": "number", "text": "category"})
    assert {name: column[:, 0].tolist() for name, column in inputs.items()} == {
        **{"a_b": [1.0, 2.0], "a_b_2": [3.0, 4.0]},
        "text": ["", "?"],  # as the exported classifier gets it
    }


def test_semicolons_and_tabs(tmp_path):
    for separator in ";\t":
        path = tmp_path / "table.csv"
        path.write_text(f"a{separator}b\n1{separator} x,y\n")
        assert tables.read_table(str(path)) == {"a": ["1"], "b": ["x,y"]}


@pytest.mark.parametrize(
    ("name", "values", "kind"),
    [
        ("age", ["1.5", "?", "NA", "2"], "number"),
        ("city", ["a", "b", "a", ""], "category"),
        ("day", ["2024-01-02", "2024-02-03 10:00", "", "2024-01-02"], "date"),
        ("day", ["31.12.2024", "1/1/24"] * 2, "date"),
        ("day", ["Jan 31, 2024", "1 march 2024", "2-Feb-24"] * 2, "date"),
        ("same", ["x", "x"], "constant"),
        ("known", ["x", ""], "category"),
        ("user_id", ["17", "3", "99"], "id"),
        ("row", ["4", "2", "3"], "id"),
        ("price", ["4", "2", "9"], "number"),
        ("name", ["Ada", "Bob", "Cyd"], "id"),
    ],
)
def test_kinds_of_columns(name, values, kind):
    assert kind_of(name, values).kind == kind


def test_groups_stay_together_and_classes_are_divided_evenly():
    ids = (np.arange(1000) % 10 == 0).astype(int)
    parts = split(ids, None)
    assert [len(rows) for rows in parts] == pytest.approx([600, 200, 200], abs=4)
    assert [ids[rows].mean() for rows in parts] == pytest.approx([0.1] * 3, abs=0.01)
    groups = [str(k // 5) for k in range(1000)]
    parts = split(np.arange(1000) % 2, groups)
    sets = [{groups[row] for row in rows} for rows in parts]
    assert not sets[0] & sets[1] | sets[0] & sets[2] | sets[1] & sets[2]
    assert sum(map(len, parts)) == 1000


def test_which_label_is_positive():
    assert labels_of("y", ["yes"] * 30 + ["no"] * 20, None).names == ["no", "yes"]
    assert labels_of("y", ["a"] * 30 + ["b"] * 20, None).names == ["a", "b"]
    assert labels_of("y", ["a"] * 30 + ["b"] * 20, "a").names == ["b", "a"]
    assert labels_of("y", ["a", "b", "c"] * 20, "b").names == ["not b", "b"]


def test_the_scores_are_those_of_the_package():
    curves = {name for name in scores.names() if scores.get(name).curve}
    ours = {name for name in scores.names() if hasattr(scores, name)}
    ours -= {"cost", "multiclass_cost"}  # these need a matrix
    assert set(arguments.CURVES) == curves & ours
    assert set(arguments.CLASSES) == set(scores.names("classes")) & ours
    assert set(arguments.SCORES) == ours - curves - set(arguments.CLASSES)


@pytest.mark.parametrize(
    "given", [["--help"], ["compare", "--help"], ["tune", "--help"], ["tune"], ["compare", "x.csv"]]
)
def test_help_fits_a_screen_and_comes_without_tensorflow(given):
    command = [sys.executable, "-X", "importtime", "-m", "keras_softsets", *given]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == (0 if "--help" in given else 2)
    assert "tensorflow" not in done.stderr
    assert len(done.stdout.splitlines()) <= 40
    assert all(len(line) <= 80 for line in done.stdout.splitlines())
