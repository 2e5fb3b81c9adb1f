"""Steps with one fixed bound of the curvature, factorised once; the AUC by a walk along the sorted scores."""

from scipy.linalg import cho_factor, cho_solve


def probing(features_pos, features_neg, labels_pos, labels_neg, n_layers):
    answers = [int(label) for side in (labels_pos, labels_neg) for label in side]
    train, test = split_rows(len(answers), PROBE)
    wanted = np.array([answers[row] for row in train], dtype=float)
    if not 0 < wanted.sum() < len(wanted):
        raise ValueError("only one class to learn from")
    metrics = [], [], []
    for layer in range(1, n_layers + 1):
        rows = np.vstack([batch[:, layer, :] for side in (features_pos, features_neg) for batch in side])
        rows, others = standardize(rows[train], rows[test])
        rows = np.hstack([np.ones((len(rows), 1)), rows])
        ridge = PROBE.penalty * np.eye(rows.shape[1])
        ridge[0, 0] = 0.0
        bound = cho_factor(rows.T @ rows / 4 + ridge)
        theta = np.zeros(rows.shape[1])
        for _ in range(20000):
            slope = rows.T @ (1 / (1 + np.exp(-(rows @ theta))) - wanted) + ridge @ theta
            if np.linalg.norm(slope) < 1e-8 * len(rows):
                break
            theta -= cho_solve(bound, slope)
        found = [(float(others[place] @ theta[1:] + theta[0]), answers[row]) for place, row in enumerate(test)]
        for values, value in zip(metrics, _metrics(found)):
            values.append(value)
    return metrics


def _metrics(found):
    right = sum((score > 0) == (answer == 1) for score, answer in found)
    both = sum(score > 0 and answer == 1 for score, answer in found)
    either = sum(score > 0 or answer == 1 for score, answer in found)
    below, pairs = 0, 0
    for _, answer in sorted(found):
        below += answer == 0
        pairs += below * (answer == 1)
    positives = sum(answer for _, answer in found)
    room = positives * (len(found) - positives)
    return right / len(found), 2 * both / (either + both) if either else 0.0, pairs / room if room else 0.5
