"""The real raw files, where KERAS_SOFTSETS_RAW_DIR says that they are: the published numbers, parts and seeds.

One test for each data set, so that every set is prepared once however the tests are spread over processes.
"""

import functools
import hashlib
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from keras_softsets import datasets
from keras_softsets.datasets._catalog import CATALOG
from keras_softsets.datasets._files import require_raw
from keras_softsets.datasets._tables import read_lines

pytestmark = pytest.mark.skipif(
    not os.environ.get("KERAS_SOFTSETS_RAW_DIR"), reason="KERAS_SOFTSETS_RAW_DIR does not point to the raw files"
)

# name: samples, positives, features, and samples and positives of each part
BINARY = {
    "adult": (48_842, 11_687, 13, [(31_259, 7_480), (7_815, 1_870), (9_768, 2_337)]),
    "cocktail_party": (4_800, 1_454, 22, [(3_072, 930), (768, 233), (960, 291)]),
    "creditcard_fraud": (284_807, 492, 29, [(182_277, 315), (45_569, 79), (56_961, 98)]),
    "mammography": (11_183, 260, 6, [(7_156, 166), (1_790, 42), (2_237, 52)]),
    "spambase": (4_601, 1_813, 57, [(2_944, 1_160), (736, 290), (921, 363)]),
}
# name: features, and the samples of each class
MULTICLASS = {
    "letter": (16, [
        789, 766, 736, 805, 768, 775, 773, 734, 755, 747, 739, 761, 792,
        783, 753, 803, 783, 758, 748, 796, 813, 764, 752, 787, 786, 734,
    ]),
    "wine_quality": (11, [20 + 163, 1_457, 2_198, 880, 175 + 5]),
}  # fmt: skip


@pytest.fixture
def data_dir(tmp_path):
    yield tmp_path
    shutil.rmtree(tmp_path)  # pytest would keep half a gigabyte for each of the last three runs.


def counts(splits):
    return [(len(y), int(y.sum())) for _, y in splits]


def sorted_columns(splits):
    """Returns each column sorted among the positives and among the negatives, in units that no split decides."""
    x, y = (np.concatenate(arrays) for arrays in zip(*splits, strict=True))
    x = (x - x.mean(axis=0, dtype="float64")) / x.std(axis=0, dtype="float64")
    return np.concatenate([np.sort(x[y == label], axis=0) for label in (0, 1)])


SLOW = {"creditcard_fraud": pytest.mark.slow}  # 284,807 rows through TFDS


@pytest.mark.parametrize("name", [pytest.param(name, marks=SLOW.get(name, ())) for name in BINARY])
def test_table_has_the_published_numbers(name, data_dir):
    load = functools.partial(datasets.load, name, data_dir=data_dir)
    size, positives, features, parts = BINARY[name]
    splits = load()
    assert counts(splits) == parts
    assert sum(n for n, _ in parts) == size
    assert sum(n for _, n in parts) == positives
    for x, y in splits:
        assert x.shape == (len(y), features)
        assert np.isfinite(x).all()
    np.testing.assert_allclose(splits.train[0].mean(axis=0, dtype="float64"), 0, atol=1e-4)
    np.testing.assert_allclose(splits.train[0].std(axis=0, dtype="float64"), 1, atol=1e-4)

    for (x, y), (x2, y2) in zip(splits, load(), strict=True):
        np.testing.assert_array_equal(x, x2)
        np.testing.assert_array_equal(y, y2)

    other = load(seed=1)
    assert counts(other) == parts
    assert not np.array_equal(splits.test[0], other.test[0])
    # Both are the same rows in other units, so no row is lost, doubled or in two parts.
    np.testing.assert_allclose(sorted_columns(other), sorted_columns(splits), atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "share"), [("cifar10_transportation", 0.4), ("cifar10_frog", 0.1)])
def test_cifar10_has_the_papers_numbers(name, share, data_dir):
    splits = datasets.load(name, data_dir=data_dir)
    assert counts(splits) == [(40_000, 40_000 * share), (10_000, 10_000 * share), (10_000, 10_000 * share)]
    assert {x.shape[1:] for x, _ in splits} == {(32, 32, 3)}
    np.testing.assert_allclose(splits.train[0].mean(axis=(0, 1, 2), dtype="float64"), 0, atol=1e-4)
    np.testing.assert_allclose(splits.train[0].std(axis=(0, 1, 2), dtype="float64"), 1, atol=1e-4)


@pytest.mark.parametrize("name", MULTICLASS)
def test_every_class_is_shared_out_alike(name, data_dir):
    features, sizes = MULTICLASS[name]
    splits = datasets.load(name, data_dir=data_dir)
    parts = np.array([np.bincount(y, minlength=len(sizes)) for _, y in splits])
    assert parts.sum(axis=0).tolist() == sizes
    for counts, share in zip(parts, (0.64, 0.16, 0.20), strict=True):
        assert (abs(counts - share * np.array(sizes)) <= 1).all()
    for x, y in splits:
        assert (x.shape, y.dtype) == ((len(y), features), np.int32)
    np.testing.assert_allclose(splits.train[0].mean(axis=0, dtype="float64"), 0, atol=1e-4)
    np.testing.assert_allclose(splits.train[0].std(axis=0, dtype="float64"), 1, atol=1e-4)


def test_wine_is_the_official_file_in_another_notation(tmp_path):
    """The bytes that UCI publishes, made from the raw file where that is a copy with commas, give the same table."""
    source = CATALOG["wine_quality"].source
    (official,) = source.files
    found = require_raw(Path(os.environ["KERAS_SOFTSETS_RAW_DIR"]), source.folder, official)
    lines = [line for _, line in read_lines(found)]
    header = [] if '"' in lines[0] else [";".join(f'"{name}"' for name in (*source.columns, "quality"))]
    path = tmp_path / "winequality-white.csv"
    path.write_text("\n".join([*header, *(line.replace(",", ";") for line in lines), ""]))
    assert path.stat().st_size == official.size
    assert hashlib.sha256(path.read_bytes()).hexdigest() == official.sha256
    assert source.read([official.at(path)])["train"].fingerprint == source.fingerprint
