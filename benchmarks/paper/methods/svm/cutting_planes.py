"""A linear SVM for a multivariate loss, by cutting planes (Joachims, 2005 and 2006).

    minimise  1/2 |w|^2 + C xi   such that   w . (Psi(y) - Psi(y')) >= Delta(y, y') - xi   for every labelling y'

There are exponentially many labellings, but the most violated one is found by sorting, and a few dozen of them are
enough. Each is a constraint (`gap`, `loss`): the difference of the features, and Delta. The small dual problem over the
constraints is solved precisely enough by pairwise coordinate ascent.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

TOLERANCE = 1e-3
MOST_CONSTRAINTS = 300

Constraint = tuple[np.ndarray, float]
Find = Callable[[np.ndarray, np.ndarray, np.ndarray], Constraint]


def fit(x: np.ndarray, y: np.ndarray, find: Find, cost: float) -> np.ndarray:
    """Returns the weights w.

    Args:
        x: Features (samples, features).
        y: Labels 0 or 1.
        find: Returns the most violated constraint for features, labels and scores.
        cost: C, what a unit of the loss costs.
    """
    weights = np.zeros(x.shape[1])
    # The true labelling is a constraint too (gap 0, loss 0); with it, the multipliers always sum to C.
    gaps, losses, multipliers = np.zeros((1, x.shape[1])), np.zeros(1), np.array([float(cost)])
    for _ in range(MOST_CONSTRAINTS):
        gap, loss = find(x, y, x @ weights)
        slack = (losses - gaps @ weights).max()
        if loss - gap @ weights <= slack + TOLERANCE:
            break
        gaps, losses = np.vstack([gaps, gap]), np.append(losses, loss)
        multipliers = solve(gaps @ gaps.T, losses, np.append(multipliers, 0.0))
        weights = multipliers @ gaps
    return weights


def solve(gram: np.ndarray, losses: np.ndarray, multipliers: np.ndarray, most_steps: int = 20_000) -> np.ndarray:
    """Maximises losses . a - 1/2 a . gram a over a >= 0 of constant sum, two multipliers at a time."""
    a, gradient = multipliers.copy(), losses - gram @ multipliers
    for _ in range(most_steps):
        up = int(gradient.argmax())
        down = int(np.where(a > 0, gradient, np.inf).argmin())
        if gradient[up] - gradient[down] < TOLERANCE / 10:
            break
        curvature = gram[up, up] + gram[down, down] - 2 * gram[up, down]
        step = min(a[down], (gradient[up] - gradient[down]) / max(curvature, 1e-12))
        a[up], a[down] = a[up] + step, a[down] - step
        gradient -= step * (gram[:, up] - gram[:, down])
    return a
