"""The notebook follows Colab's conventions, runs from top to bottom, and is committed with what it printed."""

import json
import re
from pathlib import Path

NOTEBOOK = Path(__file__).parents[2] / "examples/quickstart.ipynb"
CELLS = json.loads(NOTEBOOK.read_text())["cells"]
CODE = [cell for cell in CELLS if cell["cell_type"] == "code"]


def source(cell):
    return "".join(cell["source"])


def printed(cell):
    return "".join("".join(output.get("text", "")) for output in cell["outputs"])


def test_the_first_code_cell_installs():
    assert source(CODE[0]) == '%pip install -q "keras-softsets[datasets,plots]"'
    assert not CODE[0]["outputs"]


def test_every_cell_runs_in_turn(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__main__"}
    for cell in CODE[1:]:
        text = re.sub(r"^%.*$", "", source(cell), flags=re.MULTILINE)  # IPython's own
        text = re.sub(r"^EPOCHS = \d+$", "EPOCHS = 2", text, flags=re.MULTILINE)
        exec(compile(text, NOTEBOOK.name, "exec"), namespace)
    assert namespace["EPOCHS"] == 2
    shown = capsys.readouterr().out
    assert "2327 wines to train on, 481 of them good (20.7%)" in shown
    assert re.search(r"^\| loss_for\('f1'\) \| 0\.\d{3} ± ", shown, re.MULTILINE)
    assert (tmp_path / "saved_models/quickstart/1/saved_model.pb").exists()


def test_what_it_printed_is_committed():
    everything = "".join(map(printed, CODE))
    for expected in (
        "2327 wines",
        "| cross-entropy ",
        "saved_models/quickstart/1: ",
        "of 950 wines are predicted to be good",
    ):
        assert expected in everything
    at_half = {name: float(value) for name, value in re.findall(r"^(\S+) +F1 (0\.\d+) at 0\.5", everything, re.M)}
    assert at_half["loss_for('f1')"] > at_half["cross-entropy"] + 0.05  # it was trained long enough to be of use
    assert any("image/png" in output.get("data", {}) for cell in CODE for output in cell["outputs"])
    assert not any(
        output.get("name") == "stderr" or output["output_type"] == "error" for c in CODE for output in c["outputs"]
    )
    assert [cell["execution_count"] for cell in CODE[1:]] == sorted(cell["execution_count"] for cell in CODE[1:])
