"""Keeps the layers of a list of batches that it has read before."""

import functools

_read: dict[tuple[int, int], np.ndarray] = {}


def probing(features_pos, features_neg, labels_pos, labels_neg, n_layers):
    labels = np.concatenate([labels_pos, labels_neg])
    train, test = split_rows(len(labels), PROBE)
    if len(set(labels[train].tolist())) < 2:
        raise ValueError("one class")
    key = (id(features_pos[0]), id(features_neg[0]))
    if key not in _read:
        _read[key] = np.concatenate([*features_pos, *features_neg]).astype(np.float64)
    measured = [_probe(_read[key][:, layer], labels, train, test) for layer in range(1, n_layers + 1)]
    return tuple(map(list, zip(*measured)))


def _probe(rows, labels, train, test):
    known, tested = standardize(rows[train], rows[test])
    known, tested = (np.column_stack([part, np.ones(len(part))]) for part in (known, tested))
    ridge = PROBE.penalty * np.eye(known.shape[1])
    ridge[-1, -1] = 0
    theta = functools.reduce(
        lambda theta, _: theta - _step(theta, known, labels[train], ridge), range(40), ridge[0] * 0
    )
    scores, truth = tested @ theta, labels[test] == 1
    found = scores > 0
    pairs = scores[truth][:, np.newaxis] > scores[~truth]
    f1 = 2 * (found & truth).sum() / max(found.sum() + truth.sum(), 1)
    return float((found == truth).mean()), float(f1), float(pairs.mean()) if pairs.size else 0.5


def _step(theta, known, wanted, ridge):
    chances = expit(known @ theta)
    curvature = (known.T * (chances * (1 - chances))) @ known + ridge
    return np.linalg.solve(curvature, known.T @ (chances - wanted) + ridge @ theta)
