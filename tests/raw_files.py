"""Small made-up raw files in the official formats, and expectations to match them."""

import dataclasses
import hashlib
import io
import tarfile
from pathlib import Path

import numpy as np
import pytest

from keras_softsets.datasets._catalog import CATALOG
from keras_softsets.datasets.builders import BUILDERS
from keras_softsets.datasets.sets import cifar10

PEOPLE = [f"ID_00{n}" for n in range(1, 7)]
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
WINE_HEADER = (
    '"fixed acidity";"volatile acidity";"citric acid";"residual sugar";"chlorides";"free sulfur dioxide";'
    '"total sulfur dioxide";"density";"pH";"sulphates";"alcohol";"quality"'
)
TILES = 5  # images in a row of a made-up sheet

ADULT_ROW = (
    "39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, Male, "
    "2174, 0, 40, United-States, <=50K"
)
ADULT_RICH_ROW = "52, ?, 209642, HS-grad, 9, Married-civ-spouse, ?, Husband, White, Male, 0, 0, 45, United-States, >50K"


def mammography_lines(rows: int = 100, positives: int = 25) -> list[str]:
    values = np.random.RandomState(1).normal(size=(rows, 6)).round(6)
    labels = ["'1'"] * positives + ["'-1'"] * (rows - positives)
    return [",".join([*map(str, row), label]) for row, label in zip(values, labels, strict=True)]


def write_mammography(folder: Path) -> None:
    header = ",".join([*(f"attr{n}" for n in range(1, 7)), "class"])
    (folder / "mammography.csv").write_text("\n".join([header, *mammography_lines()]) + "\n")


def write_adult(folder: Path) -> None:
    poor = [ADULT_ROW.replace("39", str(20 + n)) for n in range(30)]
    rich = [ADULT_RICH_ROW.replace("52", str(20 + n)) for n in range(10)]
    (folder / "adult.data").write_text("\n".join(poor + rich) + "\n\n")
    test = ["|1x3 Cross validator", *(row.replace("77516", "7") + "." for row in poor[:20])]
    (folder / "adult.test").write_text("\n".join(test) + "\n\n")


def creditcard_lines() -> list[str]:
    columns = ["Time", *(f"V{n}" for n in range(1, 29)), "Amount", "Class"]
    values = np.random.RandomState(2).normal(size=(60, 28)).round(9)
    rows = [
        f'{number},{",".join(map(str, row))},{number * 2.5},"{int(number % 5 == 0)}"'
        for number, row in enumerate(values)
    ]
    return [",".join(f'"{column}"' for column in columns), *rows]


def write_creditcard_fraud(folder: Path) -> None:
    (folder / "creditcard.csv").write_text("\n".join(creditcard_lines()) + "\n")


def write_letter(folder: Path) -> None:
    values = np.random.RandomState(5).randint(0, 16, (260, 16))
    rows = [",".join([LETTERS[number % 26], *map(str, row)]) for number, row in enumerate(values)]
    (folder / "letter-recognition.data").write_text("\n".join(rows) + "\n")


def write_spambase(folder: Path) -> None:
    values = np.random.RandomState(6).uniform(0, 9, (50, 57)).round(3)
    rows = [",".join([*map(str, row), str(int(number < 20))]) for number, row in enumerate(values)]
    (folder / "spambase.data").write_bytes("\r\n".join([*rows, ""]).encode())  # The original has Windows line ends.


def wine_lines(separator: str = ";") -> list[str]:
    """Ten wines of each quality, 3 to 9, without the header."""
    values = np.random.RandomState(7).uniform(0, 9, (70, 11)).round(4)
    return [separator.join([*map(str, row), str(3 + number % 7)]) for number, row in enumerate(values)]


def write_wine_quality(folder: Path) -> None:
    (folder / "winequality-white.csv").write_text("\n".join([WINE_HEADER, *wine_lines()]) + "\n")


def party() -> tuple[np.ndarray, list[list[list[str]]]]:
    """Four frames of six people, and their groups."""
    random = np.random.RandomState(3)
    people = np.concatenate([random.uniform(0, 5, (4, 6, 2)), random.uniform(-3, 3, (4, 6, 1))], axis=-1).round(2)
    groups = [
        [PEOPLE],
        [PEOPLE[:3], PEOPLE[3:]],
        [[PEOPLE[5], PEOPLE[0]], PEOPLE[1:5]],
        [[person] for person in PEOPLE],
    ]
    return people, groups


def write_cocktail_party(folder: Path) -> None:
    people, groups = party()
    log, reference = ["0.5 " + " ".join(f"{person} 1.00 2.00 0.00" for person in PEOPLE) + " "], []
    for frame, (places, grouping) in enumerate(zip(people, groups, strict=True)):
        who = " ".join(f"{p} {x:.2f} {y:.2f} {a:5.2f}" for p, (x, y, a) in zip(PEOPLE, places, strict=True))
        log.append(f"{frame}.25 {who} ")
        reference.append(f"{frame}.25 " + " ".join(f"< {' '.join(group)} >" for group in grouping) + " ")
    (folder / "tracking_hp.log").write_text("\n".join(log) + "\n")
    (folder / "grouping.ref").write_text("\n".join(reference) + "\n")


def cifar10_batches() -> dict[str, bytes]:
    """Binary records: a label byte, then the red, green and blue plane."""
    random = np.random.RandomState(4)
    batches = {}
    for number, name in enumerate(cifar10.BATCHES):
        labels = (np.arange(TILES**2) + number * TILES**2) % 10
        planes = random.randint(0, 256, (TILES**2, 3072))
        batches[name] = np.concatenate([labels[:, None], planes], axis=1).astype("uint8").tobytes()
    return batches


def write_cifar10(folder: Path) -> None:
    for name, content in cifar10_batches().items():
        (folder / f"{name}.bin").write_bytes(content)


def write_cifar10_archive(folder: Path, batches: dict[str, bytes] | None = None) -> None:
    with tarfile.open(folder / "cifar-10-binary.tar.gz", "w:gz") as tar:
        for name, content in (batches or cifar10_batches()).items():
            member = tarfile.TarInfo(f"cifar-10-batches-bin/{name}.bin")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))


def write_cifar10_sheets(folder: Path) -> None:
    from PIL import Image

    labels = []
    for number, content in enumerate(cifar10_batches().values()):
        records = np.frombuffer(content, "uint8").reshape(-1, 3073)
        labels.append(records[:, 0])
        sheet = records[:, 1:].reshape(TILES, TILES, 3, 32, 32).transpose(0, 3, 1, 4, 2).reshape(TILES * 32, -1, 3)
        Image.fromarray(sheet).save(
            folder / ("test.webp" if number == 5 else f"train_{number + 1}.webp"), lossless=True
        )
    np.savez(folder / "labels.npz", train=np.concatenate(labels[:5]), test=labels[5])


@dataclasses.dataclass(frozen=True)
class MadeUp:
    write: object
    folder: str
    splits: dict[str, int]
    positives: int | tuple[int, ...]

    @property
    def size(self) -> int:
        return sum(self.splits.values())


_CIFAR10_SPLITS = {"train": 5 * TILES**2, "test": TILES**2}
MADE_UP = {
    "adult": MadeUp(write_adult, "adult", {"train": 40, "test": 20}, 10),
    "cifar10_frog": MadeUp(write_cifar10, "cifar10", _CIFAR10_SPLITS, 15),
    "cifar10_transportation": MadeUp(write_cifar10, "cifar10", _CIFAR10_SPLITS, 60),
    "cocktail_party": MadeUp(write_cocktail_party, "cocktailparty", {"train": 60}, 0 + 9 + 8 + 15),
    "creditcard_fraud": MadeUp(write_creditcard_fraud, "creditcard", {"train": 60}, 12),
    "letter": MadeUp(write_letter, "letter", {"train": 260}, (10,) * 26),
    "mammography": MadeUp(write_mammography, "mammography", {"train": 100}, 25),
    "spambase": MadeUp(write_spambase, "spambase", {"train": 50}, 20),
    "wine_quality": MadeUp(write_wine_quality, "winequality", {"train": 70}, (20, 10, 10, 10, 20)),
}


def expect_made_up(monkeypatch: pytest.MonkeyPatch, name: str, files: bool = True) -> None:
    """Makes the package expect the made-up content of `name` instead of the published one.

    Without `files` it expects the made-up counts, but still the published digests.
    """
    monkeypatch.delenv("KERAS_SOFTSETS_RAW_DIR", raising=False)
    facts = CATALOG[name].facts._replace(size=MADE_UP[name].size, positives=MADE_UP[name].positives)
    source = CATALOG[name].source
    if name.startswith("cifar10"):
        monkeypatch.setattr(cifar10, "TILES", TILES)
        digests = {batch: hashlib.sha1(content).hexdigest() for batch, content in cifar10_batches().items()}
        monkeypatch.setattr(cifar10, "BATCHES", digests if files else cifar10.BATCHES)
    elif files:
        unchecked = tuple(file._replace(sha256=None, shipped=False) for file in source.files)
        source = dataclasses.replace(source, files=unchecked, fingerprint=None)
    replace_data_set(monkeypatch, name, facts=facts, source=source)


def replace_data_set(monkeypatch: pytest.MonkeyPatch, name: str, **changes: object) -> None:
    """Changes what the package knows of a data set, in the catalog and in its builder."""
    data_set = dataclasses.replace(CATALOG[name], **changes)
    monkeypatch.setitem(CATALOG, name, data_set)
    monkeypatch.setattr(BUILDERS[name], "data_set", data_set)
