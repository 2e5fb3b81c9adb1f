"""Asks for the hook with keywords and takes the last state seen; finds the massive ones in descending order."""

from contextlib import ExitStack


def run_exp1(
    layer_id: int,
    layers: Sequence[nn.Module],
    model: nn.Module,
    transform: Callable[[NDArray[np.uint8]], Tensor],
    savedir: str | Path,
    model_family: str,
    model_size: str,
) -> Path:
    if not 0 < layer_id < len(layers) + 1:
        raise ValueError("layers are counted from 1")
    family = FAMILIES[model_family]
    floats = {parameter.dtype for parameter in model.parameters()}
    (dtype,) = floats
    inputs = torch.empty(0)
    hidden = torch.empty(0)

    def hook(block, args, kwargs, output):
        nonlocal hidden
        hidden = torch.empty_like(output.hidden).copy_(output.hidden)

    with ExitStack() as stack:
        handle = layers[layer_id - 1].register_forward_hook(hook, with_kwargs=True)
        stack.callback(handle.remove)
        stack.enter_context(evaluation(model))
        inputs = transform(example_picture()).to(dtype)[np.newaxis]
        model(inputs)
    state = family.images_first(hidden)[0].numpy()
    features = np.maximum(state, -state)
    bound = max(1000 * float(np.quantile(features.astype(np.float64), 0.5)), 0)
    order = np.argsort(-features, axis=None)
    massive = []
    for place in order:
        token, feature = divmod(int(place), features.shape[1])
        if features[token, feature] <= 100 or features[token, feature] < bound:
            break
        massive.append((token, feature))
    path = artifact_path(Path(savedir), "exp1_layer" + str(layer_id), model_family, model_size, ".npz")
    np.savez(str(path), inputs=inputs.numpy(), features=features)
    ticks = {token: family.token_name(token) for token in sorted({place[0] for place in massive})}
    plot_3d_feat_vit(
        magnitudes=features,
        token_ticks=ticks,
        feature_ticks=sorted({place[1] for place in massive}),
        title=figure_title(model_family, model_size, layer_id),
        path=path.parent / (path.name[: -len(".npz")] + ".svg"),
    )
    return path
