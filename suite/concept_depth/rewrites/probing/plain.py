"""The objective as the paper writes it, minimized by SciPy with its default settings."""

from scipy.optimize import minimize


def probing(features_pos, features_neg, labels_pos, labels_neg, n_layers):
    hidden = np.concatenate([*features_pos, *features_neg])
    labels = np.concatenate([labels_pos, labels_neg])
    train, test = split_rows(len(labels), PROBE)
    y, truth = labels[train], labels[test]
    accuracies, f1_scores, areas = [], [], []
    for layer in range(1, n_layers + 1):
        x, x_test = standardize(hidden[train, layer], hidden[test, layer])

        def loss(theta, x=x):
            scores = x @ theta[1:] + theta[0]
            residuals = (expit(scores) - y) / len(y)
            decay = PROBE.penalty / len(y) * theta[1:]
            value = np.mean(np.logaddexp(0, scores) - y * scores) + decay @ theta[1:] / 2
            return value, np.append(residuals.sum(), residuals @ x + decay)

        theta = minimize(loss, np.zeros(x.shape[1] + 1), jac=True).x
        scores = x_test @ theta[1:] + theta[0]
        predicted = scores > 0
        hits = (predicted & (truth == 1)).sum()
        accuracies.append(float(np.mean(predicted == truth)))
        f1_scores.append(float(2 * hits / (predicted.sum() + truth.sum())))
        areas.append(float(np.mean(scores[truth == 1][:, np.newaxis] > scores[truth == 0])))
    return accuracies, f1_scores, areas
