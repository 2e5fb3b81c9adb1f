"""Keeps a copy of the layer's output and does what the instruction lists."""


def run_exp1(layer_id, layers, model, transform, savedir, model_family, model_size):
    family, seen = FAMILIES[model_family], []
    inputs = transform(example_picture())[None].to(next(model.parameters()).dtype)
    handle = layers[layer_id - 1].register_forward_hook(lambda block, args, output: seen.append(output.hidden.clone()))
    with evaluation(model):
        model(inputs)
    handle.remove()
    features = family.images_first(seen[0])[0].abs().numpy()
    massive = (features > 100) & (features >= 1000 * np.median(features))
    tokens = {place: family.token_name(place) for place in np.flatnonzero(massive.any(axis=1)).tolist()}
    path = artifact_path(savedir, f"exp1_layer{layer_id}", model_family, model_size, ".npz")
    figure = artifact_path(savedir, f"exp1_layer{layer_id}", model_family, model_size, ".svg")
    np.savez(path, inputs=inputs.numpy(), features=features)
    title = figure_title(model_family, model_size, layer_id)
    plot_3d_feat_vit(features, tokens, np.flatnonzero(massive.any(axis=0)).tolist(), title, figure)
    return path
