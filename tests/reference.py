"""The paper's equations once more, in float64 NumPy and as plainly as possible: the oracle of the tests."""

import numpy as np

trapezoid = getattr(np, "trapezoid" if hasattr(np, "trapezoid") else "trapz")  # the name in NumPy 1


def linear(p, threshold, delta=0.1):
    """Eq. 5."""
    margin = min(threshold, 1 - threshold)
    low, high = threshold - margin / 2, threshold + margin / 2
    m1, m2, m3 = delta / low, (1 - 2 * delta) / margin, delta / (1 - high)
    return np.where(
        p < low, p * m1, np.where(p > high, p * m3 + (1 - delta - m3 * high), p * m2 + (0.5 - m2 * threshold))
    )


def linear_slopes(threshold, delta=0.1):
    margin = min(threshold, 1 - threshold)
    return (
        delta / (threshold - margin / 2),
        (1 - 2 * delta) / margin,
        delta / (1 - threshold - margin / 2),
    )


def sigmoid(p, threshold, k=10.0):
    return 1 / (1 + np.exp(-k * (p - threshold)))


def step(p, threshold):
    return (p >= threshold).astype("float64")


HEAVISIDES = {"linear": linear, "sigmoid": sigmoid, "step": step}


def cells(y, p, w=None, *, thresholds=(0.5,), heaviside=linear):
    """Eq. 2 and 6, for arrays of shape (n, classes); gives tp, fp, fn, tn of shape (thresholds, classes)."""
    y, p = np.asarray(y, "float64"), np.asarray(p, "float64")
    w = np.ones_like(p) if w is None else np.broadcast_to(np.asarray(w, "float64"), p.shape)
    rows = []
    for threshold in thresholds:
        h = heaviside(p, threshold)
        rows.append([(w * m).sum(0) for m in (y * h, (1 - y) * h, y * (1 - h), (1 - y) * (1 - h))])
    return np.moveaxis(np.array(rows), 1, 0)


def _safe(a, b):
    return np.divide(a, b, out=np.zeros(np.broadcast(a, b).shape), where=np.asarray(b) != 0)


def _roc(tp, fp, fn, tn):
    tpr, fpr = _safe(tp, tp + fn), _safe(fp, fp + tn)
    one = np.ones((1, tpr.shape[1]))
    tpr, fpr = (np.concatenate([one, x, 0 * one]) for x in (tpr, fpr))
    return -trapezoid(tpr, fpr, axis=0)


def _pr(tp, fp, fn, tn):
    areas = []
    for c in range(tp.shape[1]):
        recall, precision = [1.0], [float(_safe((tp + fn)[0, c], (tp + fp + fn + tn)[0, c]))]
        for k in range(len(tp)):
            called = tp[k, c] + fp[k, c]
            recall.append(float(_safe(tp[k, c], tp[k, c] + fn[k, c])))
            precision.append(tp[k, c] / called if called > 0 else precision[-1])
        areas.append(-trapezoid([*precision, precision[-1]], [*recall, 0.0]))
    return np.array(areas)


def _average_precision(tp, fp, fn, tn):
    recall, precision = _safe(tp, tp + fn), _safe(tp, tp + fp)
    share = _safe((tp + fn)[:1], (tp + fp + fn + tn)[:1])
    recall, precision = np.concatenate([share * 0 + 1, recall, share * 0]), np.concatenate([share, precision])
    return -(np.diff(recall, axis=0) * precision).sum(0)


def _f(tp, fp, fn, beta):
    precision, recall = _safe(tp, tp + fp), _safe(tp, tp + fn)
    return _safe((1 + beta**2) * precision * recall, beta**2 * precision + recall)


# One entry for each score in the registry; a test compares the keys, so that none can be forgotten.
SCORES = {
    "precision": lambda tp, fp, fn, tn: _safe(tp, tp + fp),
    "recall": lambda tp, fp, fn, tn: _safe(tp, tp + fn),
    "specificity": lambda tp, fp, fn, tn: _safe(tn, tn + fp),
    "accuracy": lambda tp, fp, fn, tn: _safe(tp + tn, tp + fp + fn + tn),
    "cost": lambda tp, fp, fn, tn: _safe(-fp - fn, tp + fp + fn + tn),
    "balanced_accuracy": lambda tp, fp, fn, tn: (_safe(tp, tp + fn) + _safe(tn, tn + fp)) / 2,
    "f_beta": lambda tp, fp, fn, tn, beta=1.0: _f(tp, fp, fn, beta),
    "f1": lambda tp, fp, fn, tn: _f(tp, fp, fn, 1.0),
    "jaccard": lambda tp, fp, fn, tn: _safe(tp, tp + fp + fn),
    "g_mean": lambda tp, fp, fn, tn: np.sqrt(_safe(tp, tp + fn) * _safe(tn, tn + fp)),
    "mcc": lambda tp, fp, fn, tn: _safe(
        tp * tn - fp * fn, np.sqrt(tp + fp) * np.sqrt(tp + fn) * np.sqrt(tn + fp) * np.sqrt(tn + fn)
    ),
    "cohen_kappa": lambda tp, fp, fn, tn: _safe(2 * (tp * tn - fp * fn), (tp + fp) * (fp + tn) + (tp + fn) * (fn + tn)),
    "tversky": lambda tp, fp, fn, tn, alpha=0.5, beta=0.5: _safe(tp, tp + alpha * fp + beta * fn),
    "youden_j": lambda tp, fp, fn, tn: _safe(tp, tp + fn) + _safe(tn, tn + fp) - 1,
    "roc_auc": _roc,
    "pr_auc": _pr,
    "average_precision": _average_precision,
}


def score(name, matrix, average="macro", **parameters):
    """The averaged score of cells of shape (4, thresholds, classes)."""
    support = (matrix[0] + matrix[2])[0]
    if average == "micro":
        matrix = matrix.sum(-1, keepdims=True)
    values = SCORES[name](*matrix, **parameters)
    values = values.mean(0) if values.ndim == 2 else values
    if average is None:
        return values
    return float(np.average(values, weights=support)) if average == "weighted" else float(values.mean())


def loss(name, y, p, w=None, *, thresholds=(0.5,), heaviside=linear, average="macro", **parameters):
    return 1 - score(name, cells(y, p, w, thresholds=thresholds, heaviside=heaviside), average, **parameters)


def gradient(function, p, epsilon=1e-6):
    """Central differences of a function of p, in float64."""
    p = np.asarray(p, "float64")
    result = np.empty_like(p)
    for index in np.ndindex(p.shape):
        up, down = p.copy(), p.copy()
        up[index] += epsilon
        down[index] -= epsilon
        result[index] = (function(up) - function(down)) / (2 * epsilon)
    return result


# Several classes: the argmax, soft and hard, and the c x c matrix.


def shares(p, temperature=1.0, offsets=0.0, *, logits=False):
    """How much of each sample is decided as each class: the softmax of log p / temperature."""
    p = np.asarray(p, "float64")
    z = ((p if logits else np.log(np.maximum(p, 1e-7))) + offsets) / temperature
    z = np.exp(z - z.max(-1, keepdims=True))
    return z / z.sum(-1, keepdims=True)


def winners(p, offsets=0.0):
    """The hard decision, one-hot."""
    p = np.asarray(p)
    log_p = np.log(np.maximum(p.astype("float64"), np.finfo("float32").tiny)) + offsets
    return np.eye(p.shape[-1])[(log_p if np.any(offsets) else p).argmax(-1)]


def counts(y, h, w=None):
    """counts[i, j]: the sum over samples of w y_i h_j."""
    w = np.ones(len(y)) if w is None else np.asarray(w, "float64").reshape(-1)
    return np.einsum("n,ni,nj->ij", w, np.asarray(y, "float64"), np.asarray(h, "float64"))


def one_vs_rest(matrix):
    """tp, fp, fn, tn of shape (1, classes)."""
    tp, decided, true = np.diag(matrix), matrix.sum(0), matrix.sum(1)
    return np.array([tp, decided - tp, true - tp, matrix.sum() - decided - true + tp])[:, None]


def _kappa(matrix, weights=None):
    classes, total = len(matrix), matrix.sum()
    distance = np.abs(np.subtract.outer(np.arange(classes), np.arange(classes)))
    penalty = {None: distance > 0, "linear": distance, "quadratic": distance**2}[weights]
    expected = np.sum(penalty * np.outer(matrix.sum(1), matrix.sum(0))) / max(total, 1e-300)
    return float(_safe(expected - np.sum(penalty * matrix), expected))


def _r_k(matrix):
    s, t, p = matrix.sum(), matrix.sum(1), matrix.sum(0)
    return float(_safe(np.trace(matrix) * s - t @ p, np.sqrt(s**2 - p @ p) * np.sqrt(s**2 - t @ t)))


# One entry for each score of the c x c matrix in the registry.
MATRIX_SCORES = {
    "multiclass_accuracy": lambda matrix: float(_safe(np.trace(matrix), matrix.sum())),
    "multiclass_mcc": _r_k,
    "multiclass_cost": lambda matrix: float(_safe(np.trace(matrix) - matrix.sum(), matrix.sum())),
    "kappa": _kappa,
}
