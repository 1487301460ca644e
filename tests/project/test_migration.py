"""The rows about keras.metrics in docs/migration.md: both metrics see the same uneven batches, and agree."""

import re
from pathlib import Path

import keras
import numpy as np
import pytest
from class_cases import classes_batch

from keras_softsets import metrics

PAGE = Path(__file__).parents[2] / "docs" / "migration.md"
ROWS = re.findall(r"^\| (ids|one-hot|one|several) \| `(.*?)` \| `(.*?)` \|$", PAGE.read_text(), re.MULTILINE)


def data(labels):
    ids, p, _ = classes_batch(n=120)
    p = np.where(np.isin(p, (0.3, 0.4, 0.5)), p + 1e-3, p)  # theirs is p > threshold, ours p >= threshold
    hot = np.eye(4, dtype="float32")[ids]
    return {"ids": (ids, p), "one-hot": (hot, p), "several": (hot, p), "one": (hot[:, 0], p[:, 0])}[labels]


@pytest.mark.parametrize(("labels", "theirs", "ours"), ROWS, ids=lambda value: value.split("(")[0])
def test_the_same_numbers(labels, theirs, ours):
    y, p = data(labels)
    found = []
    for name, module in ((theirs, keras.metrics), (ours, metrics)):
        metric = eval(name, vars(module))
        for rows in (slice(0, 7), slice(7, 120)):
            metric.update_state(y[rows], p[rows])
        found.append(np.asarray(metric.result()))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-5)
    assert np.all(found[0] > 0)


def test_no_row_is_forgotten():
    table = PAGE.read_text().split("## keras.metrics")[1]
    assert len(ROWS) == len(re.findall(r"^\| ", table, re.MULTILINE)) - 1  # without the head
    assert len(ROWS) > 15
