"""A recorder that is a context of its own, and helpers for the two halves."""

import statistics
from contextlib import contextmanager


class Recorder:
    def __init__(self, family):
        self.family = family
        self.magnitudes = None

    def __call__(self, block, given, output):
        layout = output[0].transpose(0, 1) if self.family.sequence_first else output[0]
        self.magnitudes = np.array(layout.detach().abs()[0])


@contextmanager
def attached(block, recorder):
    handle = block.register_forward_hook(recorder)
    try:
        yield recorder
    finally:
        handle.remove()


def places_of(magnitudes):
    median = statistics.median(magnitudes.ravel().tolist())
    places = [tuple(place) for place in np.argwhere(magnitudes > 100).tolist()]
    return [place for place in places if magnitudes[place] / 1000 >= median or magnitudes[place] >= 1000 * median]


def run_exp1(
    layer_id: int,
    layers: Sequence[nn.Module],
    model: nn.Module,
    transform: Callable[[NDArray[np.uint8]], Tensor],
    savedir: str | Path,
    model_family: str,
    model_size: str,
) -> Path:
    numbered = dict(enumerate(layers, start=1))
    try:
        block = numbered[layer_id]
    except KeyError:
        raise ValueError(layer_id) from None
    recorder = Recorder(FAMILIES[model_family])
    images = transform(example_picture()).unsqueeze(0).type_as(next(model.parameters()))
    with attached(block, recorder), evaluation(model):
        model(images)
    places = places_of(recorder.magnitudes)
    target = artifact_path(savedir, f"exp1_layer{layer_id}", model_family, model_size, "")
    plot_3d_feat_vit(
        recorder.magnitudes,
        {token: recorder.family.token_name(token) for token in sorted({token for token, _ in places})},
        sorted({feature for _, feature in places}),
        figure_title(model_family, model_size, layer_id),
        target.with_name(target.name + ".svg"),
    )
    arrays = target.with_name(target.name + ".npz")
    np.savez(arrays, inputs=images.cpu().numpy(), features=recorder.magnitudes)
    return arrays
