"""Conformance kit: `check_score` tries a score as a loss and as a metric, and names what fails.

Examples:
    >>> from keras_softsets import scores, testing
    >>> len(testing.check_score(scores.f_beta, beta=2)), len(testing.check_score(scores.kappa, weights="linear"))
    (14, 14)
"""

from keras_softsets.testing._check_score import check_score as check_score
