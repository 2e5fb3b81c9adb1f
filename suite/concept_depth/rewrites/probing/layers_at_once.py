"""Newton's method for all layers in one go, each with steps as long as its own loss allows."""


def probing(features_pos, features_neg, labels_pos, labels_neg, n_layers):
    hidden = np.concatenate([*features_pos, *features_neg])[:, 1 : n_layers + 1].swapaxes(0, 1)
    labels = np.concatenate([labels_pos, labels_neg]).astype(np.float64)
    train, test = split_rows(labels.size, PROBE)
    y, truth = labels[train], labels[test]
    if y.all() or not y.any():
        raise ValueError("a probe needs both classes")
    scaled = [standardize(rows[train], rows[test]) for rows in hidden]
    inputs = np.stack([np.pad(rows, ((0, 0), (0, 1)), constant_values=1.0) for rows, _ in scaled])
    others = np.stack([np.pad(rows, ((0, 0), (0, 1)), constant_values=1.0) for _, rows in scaled])
    weight = np.full(inputs.shape[2], PROBE.penalty)
    weight[-1] = 0.0
    theta = np.zeros((n_layers, inputs.shape[2]))

    def loss(theta):
        scores = np.einsum("lnd,ld->ln", inputs, theta)
        return (np.logaddexp(0, scores) - y * scores).sum(axis=1) + (weight * theta**2).sum(axis=1) / 2

    for _ in range(100):
        chances = expit(np.einsum("lnd,ld->ln", inputs, theta))
        slope = np.einsum("lnd,ln->ld", inputs, chances - y) + weight * theta
        if np.abs(slope).max() < 1e-8 * len(train):
            break
        curvature = np.einsum("lnd,ln,lne->lde", inputs, chances * (1 - chances), inputs) + np.diag(weight)
        step = np.linalg.solve(curvature, slope[:, :, np.newaxis])[:, :, 0]
        before = loss(theta)
        for _ in range(40):
            worse = loss(theta - step) > before + 1e-8
            if not worse.any():
                break
            step[worse] /= 2
        theta = theta - step
    scores = np.einsum("lnd,ld->ln", others, theta)
    found = scores > 0
    acc = (found == (truth == 1)).mean(axis=1)
    both, sizes = (found & (truth == 1)).sum(axis=1), found.sum(axis=1) + truth.sum()
    f1 = np.divide(2.0 * both, sizes, out=np.zeros(n_layers), where=sizes > 0)
    differences = scores[:, truth == 1][:, :, np.newaxis] - scores[:, truth == 0][:, np.newaxis, :]
    auc = (np.sign(differences) / 2 + 0.5).mean(axis=(1, 2)) if differences.size else np.full(n_layers, 0.5)
    return acc.tolist(), f1.tolist(), auc.tolist()
