"""The demo's numbers in the README are those of the result file, whatever words are around them."""

import hashlib
import json
import re
import runpy
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
DEMO = ROOT / "studies/results/demo.json"  # what `make demo` wrote to runs/demo


def test_the_table_of_the_demo_is_what_it_printed(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "examples")  # as `python examples/demo.py` does
    table = runpy.run_path(str(ROOT / "examples/demo.py"))["table"]
    section = re.search(r"\[start:demo\] -->\n(.*?)\n<!--", README, re.DOTALL).group(1)
    assert section == table(json.loads(DEMO.read_text()))


def test_the_figure_of_the_demo_was_drawn_from_its_numbers():
    digest = hashlib.sha256(DEMO.read_bytes()).hexdigest()
    assert f"results.json, sha256 {digest}".encode() in (ROOT / "docs/images/demo.png").read_bytes()
