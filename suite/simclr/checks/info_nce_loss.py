"""info_nce_loss: logits, labels, gradients, for views, sizes, scales and types; what stays as it is; the experiment."""

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
    ("wider than the batch", 3, 3, 10, 1.0, 1.0, torch.float64),
    ("tiny projections, very cold", 2, 4, 6, 0.002, 1e-6, torch.float64),
    ("huge projections, very hot", 3, 4, 6, 60.0, 1e6, torch.float64),
    ("half precision", 2, 5, 6, 0.5, 300.0, torch.float16),
    ("brain floating point", 3, 3, 6, 0.3, 1.0, torch.bfloat16),
)


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def draw(rows, width):
        scales = 0.2 + 3 * torch.rand(rows, 1, generator=generator, dtype=torch.float64)
        return scales * torch.randn(rows, width, generator=generator, dtype=torch.float64)

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
    again = {"features": draw(12, 5), "n_views": 3, "temperature": 0.9}
    yield {"name": "called again", **again, "earlier": {"features": draw(12, 5), "n_views": 2, "temperature": 0.3}}
    yield {"name": "a temperature of one", "features": draw(8, 5), "n_views": 2, "temperature": 1.0}
    yield {"name": "experiment", "seed": seed % 1000}


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
    features = case["features"].clone().requires_grad_()
    logits, labels = trainer.info_nce_loss(features)
    unchanged = {
        "input": torch.equal(features, case["features"]),
        "attributes": [sorted(vars(trainer)), sorted(vars(trainer.model)), trainer.model.training],
        "config": trainer.config == config_of(case),
    }
    if features.dtype in (torch.float16, torch.bfloat16):
        # Right versions differ in the order of their roundings.
        seen = {"dtype": str(logits.dtype), "shape": list(logits.shape), "finite": bool(logits.isfinite().all())}
        return {"in_half": seen, "labels": labels, "unchanged": unchanged}
    weights = torch.linspace(1, 2, logits.numel(), dtype=logits.dtype).reshape(logits.shape)
    (gradient,) = torch.autograd.grad((weights * logits.square()).sum(), features)
    # Of order one at every scale and temperature.
    gradient = gradient * case["features"].norm(dim=1, keepdim=True) * case["temperature"] ** 2
    key = "in_double" if features.dtype == torch.float64 else "in_single"
    return {key: {"logits": logits, "gradient": gradient}, "labels": labels, "unchanged": unchanged}
