"""Switches modes by hand, runs in inference mode, and copies the whole state before it takes magnitudes in numpy."""


def run_exp1(
    layer_id: int,
    layers: Sequence[nn.Module],
    model: nn.Module,
    transform: Callable[[NDArray[np.uint8]], Tensor],
    savedir: str | Path,
    model_family: str,
    model_size: str,
) -> Path:
    if layer_id not in range(1, len(layers) + 1):
        raise ValueError("layer_id")
    kept = {}

    def keep(block, given, output):
        hidden = output.hidden.detach().clone()
        kept["hidden"] = hidden[:, 0] if FAMILIES[model_family].sequence_first else hidden[0]

    dtype = next(iter(model.parameters())).dtype
    images = transform(example_picture()).to(dtype)[None]
    modes = {module: module.training for module in model.modules()}
    handle = layers[layer_id - 1].register_forward_hook(keep)
    try:
        for module in modes:
            module.training = False
        with torch.inference_mode():
            model(images)
    finally:
        handle.remove()
        for module, mode in modes.items():
            module.training = mode
    features = np.abs(kept["hidden"].numpy())
    ordered = np.sort(features, axis=None)
    half = len(ordered) // 2
    median = ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2
    tokens, dimensions = {}, set()
    for token, row in enumerate(features):
        for dimension, value in enumerate(row):
            if value > 100 and value >= 1000 * median:
                tokens[token] = FAMILIES[model_family].token_name(token)
                dimensions.add(dimension)
    name = f"exp1_layer{layer_id}"
    arrays, figure = (artifact_path(savedir, name, model_family, model_size, suffix) for suffix in (".npz", ".svg"))
    with open(arrays, "wb") as file:
        np.savez_compressed(file, features=features, inputs=np.array(images))
    title = figure_title(model_family, model_size, layer_id)
    plot_3d_feat_vit(features, tokens, sorted(dimensions), title, figure)
    return arrays
