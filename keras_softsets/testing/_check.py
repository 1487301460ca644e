"""The check itself: runs the kit that fits a score, and names what fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from keras_softsets import scores
from keras_softsets.evaluation import ScoreLike
from keras_softsets.testing._cells import CellsKit
from keras_softsets.testing._classes import ClassesKit
from keras_softsets.testing._kit import Kit


def check_score(score: ScoreLike, *, monotone: bool = True, **score_args: Any) -> list[str]:
    """Checks that a score can be trained on, reported and saved.

    Args:
        score: A registered score or its name; a plain function can pass all checks except the one about saving.
        monotone: Whether better predictions (a higher p for a positive, a lower one for a negative, a higher logit for
            the right one of several classes) must never lower the score. Defaults to `True`.
        **score_args: Parameters of the score.

    Returns:
        The names of the checks, all of which passed.

    Raises:
        AssertionError: If checks fail; the message says which, and how.

    Examples:
        >>> def inverted(cells):
        ...     return -scores.f1(cells)
        >>> check_score(inverted)
        Traceback (most recent call last):
        AssertionError: inverted() fails 3 of 14 checks:
        - perfect predictions beat constant ones: -1 < 0
        - better probabilities never lower the score: gradient of the score has the wrong sign, by 0.1904
        - survives saving: decorate the function with @keras_softsets.score
    """
    resolved = scores.get(score, **score_args)
    kit: Kit = ClassesKit(resolved) if resolved.of == "classes" else CellsKit(resolved)
    checks = {name: check for name, check in kit.checks().items() if monotone or check != kit.monotone}
    failures = [f"- {name}: {problem}" for name, check in checks.items() if (problem := _problem(check))]
    if failures:
        head = f"{kit.score!r} fails {len(failures)} of {len(checks)} checks:"
        raise AssertionError("\n".join([head, *failures]))
    return list(checks)


def _problem(check: Callable[[], str | None]) -> str | None:
    try:
        return check()
    except Exception as error:  # a score that raises has failed that check; the others still run
        return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
