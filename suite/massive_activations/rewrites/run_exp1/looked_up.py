"""Finds the layer by its number, refuses a number without one at the end, and takes the lower of two medians."""


def run_exp1(
    layer_id: int,
    layers: Sequence[nn.Module],
    model: nn.Module,
    transform: Callable[[NDArray[np.uint8]], Tensor],
    savedir: str | Path,
    model_family: str,
    model_size: str,
) -> Path:
    family = FAMILIES[model_family]
    inputs = transform(example_picture()).unsqueeze(0).to(next(model.parameters()).dtype)
    states = []

    def keep(block, given, output):
        states.append(family.images_first(output.hidden)[0].abs().clone())

    handles = [layer.register_forward_hook(keep) for number, layer in enumerate(layers, start=1) if number == layer_id]
    try:
        with evaluation(model):
            model(inputs)
    finally:
        for handle in handles:
            handle.remove()
    if not states:
        raise ValueError(f"no layer has the number {layer_id}")
    features = states[0]
    massive = (features > 100) & (features / 1000 >= features.median())
    tokens = massive.any(dim=1).nonzero().flatten().tolist()
    path = artifact_path(savedir, f"exp1_layer{layer_id}", model_family, model_size, ".npz")
    np.savez(path, inputs=inputs.numpy(), features=features.numpy())
    plot_3d_feat_vit(
        features.numpy(),
        {token: family.token_name(token) for token in tokens},
        massive.any(dim=0).nonzero().flatten().tolist(),
        figure_title(model_family, model_size, layer_id),
        artifact_path(savedir, f"exp1_layer{layer_id}", model_family, model_size, ".svg"),
    )
    return path
