"""CocktailParty: do two of the six people at a party stand in different conversational groups?

Every annotated frame gives a sample for each of its 15 pairs. Positions and directions are in the pair's own
coordinates: the origin is halfway between the two people, with the smaller ID on the negative x-axis and the other on
the positive x-axis. A direction is given by its cosine and sine. The pair's own y is zero by construction and is left
out, so there are 2 * (x, cos, sin) + 4 * (x, y, cos, sin) = 22 features; the other four people are in order of their
IDs.

A pair is positive if it does *not* share a group, which gives the 30.29 % of positives that the paper reports.
"""

import itertools
import re
from collections.abc import Container, Sequence

import numpy as np

from keras_softsets.datasets._data_set import Array, DataSet, Description, Table, TableSource
from keras_softsets.datasets._files import LocalFile, RawFile
from keras_softsets.datasets._tables import malformed, parse_numbers, progress, read_lines, split_fields, table

_FACTS = Description(
    "cocktail_party",
    4_800,
    1_454,
    22,
    source="https://tev.fbk.eu/technologies/cocktailparty-dataset-multi-view-dataset-social-behavior-analysis",
    licence="research or academic purposes only; cite Zen et al., 2010",
)
PEOPLE = tuple(f"ID_00{number}" for number in range(1, 7))
PAIRS = tuple(itertools.combinations(range(len(PEOPLE)), 2))
_LOG_COLUMNS = tuple(f"{quantity} of {person}" for person in PEOPLE for quantity in ("x", "y", "angle"))
_OF_PAIR = tuple(f"{who}_{quantity}" for who in ("first", "second") for quantity in ("x", "cos", "sin"))
_OF_OTHERS = tuple(f"other{n}_{quantity}" for n in range(1, 5) for quantity in ("x", "y", "cos", "sin"))
_COLUMNS = _OF_PAIR + _OF_OTHERS
# "<stamp> < ID_006 ID_001 > < ID_002 ... >"
_GROUPING = re.compile(r"\S+(\s+<(\s+ID_\d+)+\s+>)+")


def read(files: Sequence[LocalFile]) -> dict[str, Table]:
    """Parses tracking_hp.log and grouping.ref."""
    log, reference = files
    groupings = [(number, *_parse_grouping(reference, number, line)) for number, line in read_lines(reference) if line]
    frames = _read_frames(log, {stamp for _, stamp, _ in groupings})
    people, labels = [], []
    for number, stamp, group_of in groupings:
        if stamp not in frames:
            malformed(reference.path, number, f"the stamp must be in {log.path.name}, received {stamp}")
        people.append(frames[stamp])
        labels += [int(group_of[PEOPLE[first]] != group_of[PEOPLE[second]]) for first, second in PAIRS]
    raw = np.array(people).reshape(-1, len(PEOPLE), 3)
    features = np.stack([pair_features(raw, pair) for pair in PAIRS], axis=1).reshape(-1, len(_COLUMNS))
    return {"train": table(features, labels, raw)}


def pair_features(people: Array, pair: tuple[int, int]) -> Array:
    """Returns the features of one pair in every frame.

    Args:
        people: `(frames, 6, 3)`: x, y and angle of everybody.
        pair: The places of the two, the smaller first.

    Returns:
        `(frames, 22)`.
    """
    first, second = pair
    others = [person for person in range(len(PEOPLE)) if person not in pair]
    position, angle = people[..., :2], people[..., 2]
    origin = (position[:, [first]] + position[:, [second]]) / 2
    axis = position[:, second] - position[:, first]
    turn = np.arctan2(axis[:, 1], axis[:, 0])[:, None]
    x, y = np.moveaxis(position - origin, -1, 0)
    x, y = x * np.cos(turn) + y * np.sin(turn), y * np.cos(turn) - x * np.sin(turn)
    everybody = np.stack([x, y, np.cos(angle - turn), np.sin(angle - turn)], axis=-1)
    frames = len(people)
    return np.concatenate(
        [everybody[:, [first, second]][..., [0, 2, 3]].reshape(frames, 6), everybody[:, others].reshape(frames, 16)],
        axis=-1,
    )


def _read_frames(file: LocalFile, stamps: Container[str]) -> dict[str, list[float]]:
    """Returns x, y and angle of the six, 18 numbers, for the annotated time stamps: one frame in 78."""
    frames = {}
    for number, line in progress(read_lines(file), file.path):
        if not line:
            continue
        stamp, *fields = split_fields(file.path, number, line, 1 + 4 * len(PEOPLE), separator=None)
        if tuple(fields[::4]) != PEOPLE:
            malformed(file.path, number, f"must list {PEOPLE[0]} to {PEOPLE[-1]} in this order, received {fields[::4]}")
        del fields[::4]
        values = parse_numbers(file.path, number, _LOG_COLUMNS, fields)
        if stamp in stamps:
            frames[stamp] = values
    return frames


def _parse_grouping(file: LocalFile, number: int, line: str) -> tuple[str, dict[str, int]]:
    """Returns the stamp and the number of everybody's group."""
    if not _GROUPING.fullmatch(line):
        malformed(file.path, number, f"must be a stamp and groups like '< ID_001 ID_002 >', received {line!r}")
    groups = [group.split() for group in re.findall(r"<([^>]*)>", line)]
    members = [person for group in groups for person in group]
    if sorted(members) != list(PEOPLE):
        malformed(file.path, number, f"must name each of the six people once, received {' '.join(members)}")
    return line.split()[0], {person: index for index, group in enumerate(groups) for person in group}


COCKTAIL_PARTY = DataSet(
    _FACTS,
    about="""Do two people at a party stand in different conversational groups?

    15 pairs in each of 320 annotated frames with six people. The 22 features are positions and directions in the
    pair's own coordinates: x, cosine and sine for the pair; x, y, cosine and sine for the other four. A pair that does
    not share a group is positive.
    """,
    citation="""@inproceedings{zen2010space,
  author = {Zen, Gloria and Lepri, Bruno and Ricci, Elisa and Lanz, Oswald},
  title = {Space Speaks: Towards Socially and Personality Aware Visual Surveillance},
  booktitle = {ACM International Workshop on Multimodal Pervasive Video Analysis},
  pages = {37--42},
  year = {2010},
}""",
    source=TableSource(
        columns=_COLUMNS,
        read=read,
        files=(
            RawFile(("tracking_hp.log",), 3_905_375, page=_FACTS.source),
            RawFile(("grouping.ref",), 21_872, page=_FACTS.source),
        ),
        folder="cocktailparty",
        fingerprint="c7fe84a5cd06de88da49dc0879657edf03274e30524e68148f0166e9ad791062",
    ),
)
