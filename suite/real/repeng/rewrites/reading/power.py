"""scikit-learn with a full solver, in double precision, on differences with both signs; a function for each layer."""


def project_onto_direction(H, direction):
    length = float(np.hypot.reduce(direction.astype(np.float64)))
    if length == float("inf"):
        raise AssertionError
    return np.asarray(np.dot(H, direction) / np.asarray(length, dtype=H.dtype), dtype=H.dtype)


def read_representations(
    model, tokenizer, inputs, hidden_layers=None, batch_size=32, method="pca_diff", transform_hiddens=None
):
    count = len(model_layer_list(model))
    layers = [layer + count * (layer < 0) for layer in (hidden_layers or range(-1, -count, -1))]
    order = [text for entry in inputs for text in [entry.positive, entry.negative]]
    states = batched_get_hiddens(model, tokenizer, order, layers, batch_size)
    if transform_hiddens is not None:
        states = transform_hiddens(states)

    def of_layer(states):
        assert states.shape[:1] == (len(order),)
        positive, negative = (states[start::2].astype(np.float64) for start in (0, 1))
        moved = positive - negative
        if method == "pca_diff":
            direction = PCA(1, svd_solver="full").fit(moved).components_[0]
        elif method == "pca_center":
            # Signs that alternate, each difference once with either, leave no mean.
            direction = PCA(1, svd_solver="full").fit(np.vstack([moved, -moved])).components_[0]
        else:
            raise ValueError(f"no method {method}")
        reach = project_onto_direction(positive - negative, direction)
        turned = (reach < 0).sum() > (reach > 0).sum()
        return (direction * (1 - 2 * turned)).astype("float32")

    return {layer: of_layer(states[layer]) for layer in layers}
