"""Eigenvectors of a matrix of second moments by torch, both members of each pair counted one by one."""

import collections


def _first(moments):
    values, vectors = torch.linalg.eigh(torch.from_numpy(moments))
    return vectors[:, values.argmax()].numpy()


def project_onto_direction(H, direction):
    length = np.linalg.norm(direction, ord=2)
    assert np.isfinite(length)
    return np.einsum("nd,d->n", H, direction) / length


def read_representations(
    model, tokenizer, inputs, hidden_layers=None, batch_size=32, method="pca_diff", transform_hiddens=None
):
    layers = [*hidden_layers] if hidden_layers is not None else []
    if not layers:
        layers = [-back for back in range(1, model.config.num_hidden_layers)]
    last = len(model_layer_list(model))
    layers = [last + layer if layer < 0 else layer for layer in layers]
    if layers and method not in {"pca_diff", "pca_center"}:
        raise ValueError("an unknown method")
    texts = [getattr(entry, name) for entry in inputs for name in ("positive", "negative")]
    hiddens = batched_get_hiddens(model, tokenizer, texts, layers, batch_size)
    hiddens = hiddens if transform_hiddens is None else transform_hiddens(hiddens)
    directions = {}
    for layer in layers:
        rows = np.array(hiddens[layer], dtype=np.float64)
        if rows.shape[0] != 2 * len(inputs):
            raise AssertionError("a row for each text")
        pairs = rows.reshape(len(inputs), 2, -1)
        if method == "pca_diff":
            inner = pairs[:, 0] - pairs[:, 1]
            inner = inner - inner.mean(axis=0, keepdims=True)
        else:
            inner = (pairs - pairs.mean(axis=1, keepdims=True)).reshape(len(rows), -1)
        direction = _first(inner.T @ inner)
        votes = collections.Counter()
        for positive, negative in pairs:
            reach = float((positive - negative) @ direction)
            votes["for"] += reach > 0
            votes["against"] += reach < 0
        directions[layer] = np.array(-direction if votes["against"] > votes["for"] else direction, dtype=np.float32)
    return directions
