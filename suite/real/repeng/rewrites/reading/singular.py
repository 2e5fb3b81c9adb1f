"""A singular value decomposition in double precision; votes as signs of the differences' products."""


def project_onto_direction(H, direction):
    length = np.sqrt(np.square(direction.astype(np.float64)).sum())
    if np.isinf(length):
        raise AssertionError("an infinite direction")
    return (H.astype(np.float64) @ (direction.astype(np.float64) / length)).astype(np.result_type(H, direction))


def read_representations(
    model, tokenizer, inputs, hidden_layers=None, batch_size=32, method="pca_diff", transform_hiddens=None
):
    count = len(model_layer_list(model))
    wanted = list(range(count - 1, 0, -1)) if hidden_layers is None or len(hidden_layers) == 0 else list(hidden_layers)
    wanted = [layer % count for layer in wanted]
    texts = []
    for entry in inputs:
        texts += [entry.positive, entry.negative]
    hiddens = batched_get_hiddens(model, tokenizer, texts, wanted, batch_size)
    if transform_hiddens is not None:
        hiddens = transform_hiddens(hiddens)
    result = {}
    for layer in wanted:
        rows = hiddens[layer].astype(np.float64)
        assert len(rows) == len(texts)
        differences = rows[0::2] - rows[1::2]
        if method == "pca_diff":
            analysed = differences - differences.mean(axis=0)
        elif method == "pca_center":
            analysed = differences
        else:
            raise ValueError(method)
        direction = np.linalg.svd(analysed, full_matrices=False)[2][0]
        direction = direction / np.linalg.norm(direction)
        if np.sign(differences @ direction).sum() < 0:
            direction = -direction
        result[layer] = direction.astype(np.float32)
    return result
