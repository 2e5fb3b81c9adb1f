"""Lets the repository's `watch` place and remove the hook."""


def run_exp1(
    layer_id: int,
    layers: Sequence[nn.Module],
    model: nn.Module,
    transform: Callable[[NDArray[np.uint8]], Tensor],
    savedir: str | Path,
    model_family: str,
    model_size: str,
) -> Path:
    if layer_id < 1 or layer_id > len(layers):
        raise ValueError(f"there is no layer {layer_id}")
    family = FAMILIES[model_family]
    states = []
    parameter = next(model.parameters())
    batch = torch.stack([transform(example_picture())]).to(parameter.dtype)
    watch(
        model,
        batch,
        [layers[layer_id - 1]],
        [lambda block, given, output: states.append(family.images_first(output.hidden).squeeze(0).clone())],
    )
    magnitudes = states.pop().abs()
    bound = 1000 * magnitudes.flatten().quantile(0.5)
    massive = magnitudes.gt(100) & magnitudes.ge(bound)
    positions = massive.any(dim=1).nonzero().flatten().tolist()
    dimensions = massive.any(dim=0).nonzero().flatten().tolist()
    arrays = artifact_path(savedir, f"exp1_layer{layer_id}", model_family, model_size, ".npz")
    np.savez(arrays, inputs=batch.numpy(), features=magnitudes.numpy())
    figure = arrays.with_suffix(".svg")
    names = dict(zip(positions, map(family.token_name, positions), strict=True))
    plot_3d_feat_vit(magnitudes.numpy(), names, dimensions, figure_title(model_family, model_size, layer_id), figure)
    return arrays
