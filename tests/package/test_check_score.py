"""`check_score` on scores of the c x c matrix: ours pass, and each way to be wrong is named."""

import pytest
from keras import ops

from keras_softsets import MulticlassMatrix, check_score, score, scores

# A score that fails one check, and how the check is called.
WRONG = {
    "each class": (lambda matrix: matrix.right, "gives a single number"),
    "error rate": (lambda matrix: -scores.multiclass_accuracy(matrix), "perfect predictions beat constant ones"),
    "error rate too": (lambda matrix: -scores.multiclass_accuracy(matrix), "better logits never lower the score"),
    "division": (lambda matrix: matrix.right[0] / matrix.decided[0], "finite on one class"),
}


@pytest.mark.parametrize(
    ("name", "parameters"),
    [("kappa", {}), ("kappa", {"weights": "quadratic"}), ("multiclass_mcc", {}), ("multiclass_accuracy", {})],
)
def test_our_scores_pass(name, parameters):
    assert len(check_score(name, **parameters)) == 14


def test_a_score_of_ones_own_passes_and_is_saved():
    @score(of="classes")
    def within_one_grade(matrix: MulticlassMatrix, near: float = 0.5):
        size = matrix.counts.shape[-1]
        neighbours = ops.sum(ops.diagonal(matrix.counts, 1)) + ops.sum(ops.diagonal(matrix.counts, -1))
        assert size is not None
        return scores.ratio(ops.sum(matrix.right) + near * neighbours, matrix.total, matrix)

    assert "survives saving" in check_score(within_one_grade, near=0.25)


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_named(name):
    function, check = WRONG[name]
    wrong = scores.Score(function, of="classes", registered=False)
    with pytest.raises(AssertionError, match=rf"- {check}"):
        check_score(wrong)
    if check == "better logits never lower the score":
        with pytest.raises(AssertionError) as error:
            check_score(wrong, monotone=False)
        assert check not in str(error.value)
