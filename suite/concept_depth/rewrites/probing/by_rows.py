"""One weight for each training row: the weights of the columns are combinations of the rows; SciPy solves for all."""

from scipy.optimize import minimize


def probing(features_pos, features_neg, labels_pos, labels_neg, n_layers):
    labels = np.concatenate((labels_pos, labels_neg))
    train, test = split_rows(labels.shape[0], PROBE)
    signs = 2.0 * labels[train] - 1
    if np.abs(signs.sum()) == len(signs):
        raise ValueError("all alike")
    is_one = labels[test] > 0
    out = {"acc": [], "f1": [], "auc": []}
    for layer in range(1, n_layers + 1):
        rows = np.concatenate([part[:, layer] for part in features_pos + features_neg])
        near, far = standardize(rows[train], rows[test])
        # The rows in coordinates of the space that they span.
        left, lengths, axes = np.linalg.svd(near, full_matrices=False)
        kept = lengths > 1e-9 * lengths.max()
        near, far = left[:, kept] * lengths[kept], far @ axes[kept].T

        def objective(theta, near=near):
            margins = signs * (near @ theta[1:] + theta[0])
            pull = -signs * expit(-margins)
            slope = np.append(pull.sum(), near.T @ pull + PROBE.penalty * theta[1:])
            return -np.log(expit(margins)).sum() + PROBE.penalty * (theta[1:] @ theta[1:]) / 2, slope

        def curvature(theta, near=near):
            chances = expit(near @ theta[1:] + theta[0])
            full = np.column_stack([np.ones(len(near)), near])
            ridge = np.diag(np.append(0.0, np.full(near.shape[1], PROBE.penalty)))
            return (full.T * (chances * (1 - chances))) @ full + ridge

        start = np.zeros(near.shape[1] + 1)
        options = {"gtol": 1e-8 * len(near)}
        theta = minimize(objective, start, jac=True, hess=curvature, method="trust-exact", options=options).x
        scores = far @ theta[1:] + theta[0]
        says = expit(scores) > 0.5
        table = np.bincount(2 * is_one + says, minlength=4)
        out["acc"].append(float(table[0] + table[3]) / len(test))
        wrong = float(table[1] + table[2])
        out["f1"].append(table[3] / (table[3] + wrong / 2) if table[3] else 0.0)
        wins = [float(one > other) for one in scores[is_one] for other in scores[~is_one]]
        out["auc"].append(sum(wins) / len(wins) if wins else 0.5)
    out["f1"] = [float(value) for value in out["f1"]]
    return out["acc"], out["f1"], out["auc"]
