"""SciPy's L-BFGS on the objective as the paper writes it; AUC from ranks, F1-score from precision and recall."""

from scipy.optimize import minimize
from scipy.stats import rankdata


def probing(features_pos, features_neg, labels_pos, labels_neg, n_layers):
    hidden = np.concatenate(list(features_pos) + list(features_neg), axis=0)
    labels = np.append(labels_pos, labels_neg)
    train, test = split_rows(len(hidden), PROBE)
    if set(labels[train].tolist()) != {0, 1}:
        raise ValueError("one class")
    truth = labels[test]
    acc, f1, auc = [], [], []
    for layer in range(n_layers):
        rows, others = standardize(hidden[train, layer + 1], hidden[test, layer + 1])
        theta = _minimum(rows, labels[train])
        scores = others @ theta[1:] + theta[0]
        decisions = (scores >= 0).astype(int)
        acc.append(sum(int(a == b) for a, b in zip(decisions, truth)) / len(truth))
        hits = int(((decisions == 1) & (truth == 1)).sum())
        if hits == 0:
            f1.append(0.0)
        else:
            precision, recall = hits / int(decisions.sum()), hits / int(truth.sum())
            f1.append(2 * precision * recall / (precision + recall))
        positives, negatives = int(truth.sum()), int((1 - truth).sum())
        if positives == 0 or negatives == 0:
            auc.append(0.5)
        else:
            ranks = rankdata(scores)[truth == 1].sum()
            auc.append(float((ranks - positives * (positives + 1) / 2) / (positives * negatives)))
    return acc, f1, auc


def _minimum(rows, labels):
    count = len(rows)

    def objective(theta):
        scores = rows @ theta[1:] + theta[0]
        chances = expit(scores)
        value = np.mean(np.logaddexp(0, scores) - labels * scores)
        value += PROBE.penalty / (2 * count) * (theta[1:] ** 2).sum()
        slope = np.empty_like(theta)
        slope[0] = np.mean(chances - labels)
        slope[1:] = rows.T @ (chances - labels) / count + PROBE.penalty / count * theta[1:]
        return value, slope

    options = {"gtol": 1e-8, "ftol": 1e-15, "maxiter": 5000, "maxfun": 10000}
    return minimize(objective, np.zeros(rows.shape[1] + 1), jac=True, method="L-BFGS-B", options=options).x
