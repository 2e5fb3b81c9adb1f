"""info_nce_loss: logits, labels, gradients, for views, sizes, lengths, types; what stays as it is; the experiment."""

from functools import partial

import torch

# Name, views, images, width, temperature, scale, dtype.
SHAPES = (
    ("two views", 2, 6, 8, 0.05, 1.0, torch.float64),
    ("three views", 3, 5, 7, 0.37, 1.0, torch.float64),
    ("four views of two images", 4, 2, 5, 0.8, 1.0, torch.float64),
    ("one image", 2, 1, 4, 2.5, 1.0, torch.float64),
    ("three views of one image", 3, 1, 4, 0.6, 1.0, torch.float64),
    ("single precision", 2, 5, 6, 0.21, 1.0, torch.float32),
    ("many images", 2, 40, 16, 0.5, 1.0, torch.float64),
    ("a width of one", 2, 3, 1, 0.7, 1.0, torch.float64),
    ("wider than the batch", 3, 3, 10, 1.0, 1.0, torch.float64),
    ("tiny projections", 2, 4, 6, 0.07, 1e-6, torch.float64),
    ("huge projections", 3, 4, 6, 8.0, 1e6, torch.float64),
    ("half precision", 2, 5, 6, 0.5, 1.0, torch.float16),
    ("brain floating point", 3, 3, 6, 0.3, 1.0, torch.bfloat16),
    ("eighteen views of two images", 18, 2, 5, 0.9, 1.0, torch.float64),
    ("more images than half precision can count", 2, 258, 3, 0.4, 1.0, torch.bfloat16),
)
# Temperature, and the lengths of short and long projections.
ENDS = {
    torch.float64: (0.001, 1.01e-6, 0.99e6),
    torch.float32: (100.0, 1.01e-6, 0.99e6),
    torch.float16: (0.001, 0.101, 99.0),
    torch.bfloat16: (100.0, 0.101, 99.0),
}


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    draw = partial(_draw, generator)

    for name, n_views, images, width, temperature, scale, dtype in SHAPES:
        features = (scale * draw(n_views * images, width)).to(dtype)
        temperature *= 0.8 + 0.4 * torch.rand((), generator=generator).item()
        yield {"name": name, "features": features, "n_views": n_views, "temperature": temperature}
    # The configured batch says nothing of the features at hand: these are half of it, and twice as many.
    short, long = ({"features": draw(8, 5), "n_views": 2, "temperature": 0.35, "batch": batch} for batch in (8, 2))
    yield {"name": "a short last batch", **short}
    yield {"name": "more images than configured", **long}
    # The same values, laid out in memory as they lie after a transposition.
    yield {"name": "transposed", "features": draw(6, 9).T.contiguous().T, "n_views": 3, "temperature": 0.4}
    right_angles = 3.0 * torch.eye(8, dtype=torch.float64)[:, torch.randperm(8, generator=generator)]
    yield {"name": "at right angles", "features": right_angles, "n_views": 2, "temperature": 0.5}
    near = draw(8, 5)
    near *= (0.9995 + 0.001 * torch.arange(8) / 7).unsqueeze(1) / near.norm(dim=1, keepdim=True)
    yield {"name": "nearly normalised", "features": near, "n_views": 2, "temperature": 0.5}
    again = {"features": draw(12, 5), "n_views": 3, "temperature": 0.9}
    yield {"name": "called again", **again, "earlier": {"features": draw(12, 5), "n_views": 2, "temperature": 0.3}}
    fewer = {"features": draw(8, 5), "n_views": 2, "temperature": 0.3, "batch": 6}
    yield {"name": "called again with fewer", **fewer, "earlier": {**fewer, "features": draw(12, 5)}}
    yield {"name": "a temperature of one", "features": draw(8, 5), "n_views": 2, "temperature": 1.0}
    for dtype, (temperature, *lengths) in ENDS.items():
        features = draw(12, 6)
        long = torch.randperm(12, generator=generator) % 2
        features *= (torch.tensor(lengths)[long] / features.norm(dim=1)).unsqueeze(1)
        yield {"name": f"short and long {dtype}", "features": features.to(dtype), "n_views": 3} | {
            "temperature": temperature
        }
    yield {"name": "experiment", "seed": seed % 1000}


def timed(seed):
    generator = torch.Generator().manual_seed(seed)
    for n_views, images in ((2, 256), (2, 256), (4, 96)):
        features = _draw(generator, n_views * images, 64).float()
        yield {"name": f"{n_views} views of {images}", "features": features, "n_views": n_views, "temperature": 0.5}


def _draw(generator, rows, width):
    scales = 0.2 + 3 * torch.rand(rows, 1, generator=generator, dtype=torch.float64)
    return scales * torch.randn(rows, width, generator=generator, dtype=torch.float64)


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    from models import ContrastiveModel
    from simclr import SimCLR, SimCLRConfig

    def config_of(batch):
        images = len(batch["features"]) // batch["n_views"]
        return SimCLRConfig(
            n_views=batch["n_views"], temperature=batch["temperature"], batch=batch.get("batch", images)
        )

    trainer = SimCLR(ContrastiveModel(4), config_of(case.get("earlier", case)))
    if "earlier" in case:
        trainer.info_nce_loss(case["earlier"]["features"].clone())
        trainer.config = config_of(case)
    features = case["features"].clone().requires_grad_().clone()
    logits, labels = trainer.info_nce_loss(features)
    plain, frozen = case["features"].clone(), case["features"].clone()
    trainer.info_nce_loss(plain)
    with torch.no_grad():
        kept, _ = trainer.info_nce_loss(frozen)
        as_returned = kept.clone()
        trainer.info_nce_loss(-2 * frozen.flip(0))
    wanting = [item.requires_grad for item in (features, plain, frozen)]
    unchanged = {
        "input": all(torch.equal(given, case["features"]) for given in (features, plain, frozen)),
        "attributes": [sorted(vars(trainer)), sorted(vars(trainer.model)), trainer.model.training],
        "config": trainer.config == config_of(case),
        "gradients_wanted": [*wanting, features.retains_grad, bool(features._backward_hooks)],
        "earlier_result": torch.equal(kept, as_returned),
    }
    dtype = str(features.dtype).removeprefix("torch.")
    seen = {"labels": labels, "dtype": str(logits.dtype), "unchanged": unchanged}
    # Cosines, whatever the temperature is.
    cosines = logits.double() * case["temperature"]
    weights = torch.linspace(1, 2, logits.numel(), dtype=torch.float64).reshape(logits.shape)
    (gradient,) = torch.autograd.grad((weights * cosines.square()).sum(), features)
    seen["gradient_dtype"] = str(gradient.dtype)
    # Of order one at every length.
    gradient = gradient.double() * case["features"].double().norm(dim=1, keepdim=True)
    if "16" in dtype:
        # There right versions round in different places.
        finite = bool(cosines.isfinite().all())
        return {**seen, "shape": list(logits.shape), "finite": finite, "half": cosines}
    return {**seen, dtype: {"cosines": cosines, "gradient": gradient}}
