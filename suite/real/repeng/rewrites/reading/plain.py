"""Both methods by scikit-learn, and the votes of pairs."""


def project_onto_direction(H, direction):
    return H @ direction / np.linalg.norm(direction)


def read_representations(
    model, tokenizer, inputs, hidden_layers=None, batch_size=32, method="pca_diff", transform_hiddens=None
):
    count = len(model_layer_list(model))
    layers = [layer % count for layer in hidden_layers or range(1, count)]
    texts = [text for entry in inputs for text in (entry.positive, entry.negative)]
    hiddens = batched_get_hiddens(model, tokenizer, texts, layers, batch_size)
    if transform_hiddens:
        hiddens = transform_hiddens(hiddens)
    directions = {}
    for layer in layers:
        differences = hiddens[layer][::2] - hiddens[layer][1::2]
        analysed = differences if method == "pca_diff" else np.concatenate([differences, -differences]) / 2
        direction = PCA(n_components=1).fit(analysed).components_[0]
        reach = project_onto_direction(differences, direction)
        if (reach < 0).mean() > 0.5:
            direction = -direction
        directions[layer] = direction.astype(np.float32)
    return directions
