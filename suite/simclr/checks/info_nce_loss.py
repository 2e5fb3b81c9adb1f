"""info_nce_loss: logits, labels and gradients, for several views, sizes and types; then the experiment."""

import torch

# Name, views, images, width, dtype.
SHAPES = (
    ("two views", 2, 6, 8, torch.float64),
    ("three views", 3, 5, 7, torch.float64),
    ("four views of two images", 4, 2, 5, torch.float64),
    ("one image", 2, 1, 4, torch.float64),
    ("three views of one image", 3, 1, 4, torch.float64),
    ("single precision", 2, 5, 6, torch.float32),
    ("many images", 2, 40, 16, torch.float64),
    ("wider than the batch", 3, 3, 10, torch.float64),
)


def cases(seed):
    generator = torch.Generator().manual_seed(seed)
    for name, n_views, images, width, dtype in SHAPES:
        features = torch.randn(n_views * images, width, generator=generator, dtype=torch.float64)
        scales = 0.2 + 3 * torch.rand(n_views * images, 1, generator=generator, dtype=torch.float64)
        yield {
            "name": name,
            "features": (scales * features).to(dtype),
            "n_views": n_views,
            "temperature": 0.2 + 0.6 * torch.rand((), generator=generator).item(),
        }
    # The configured batch says nothing of the features at hand: this one is half of it.
    features = torch.randn(8, 5, generator=generator, dtype=torch.float64)
    yield {"name": "a short last batch", "features": features, "n_views": 2, "temperature": 0.35, "batch": 8}
    yield {"name": "experiment", "seed": seed % 1000}


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    from models import ContrastiveModel
    from simclr import SimCLR, SimCLRConfig

    features = case["features"].clone().requires_grad_()
    images = len(features) // case["n_views"]
    config = SimCLRConfig(n_views=case["n_views"], temperature=case["temperature"], batch=case.get("batch", images))
    logits, labels = SimCLR(ContrastiveModel(4), config).info_nce_loss(features)
    weights = torch.linspace(1, 2, logits.numel(), dtype=logits.dtype).reshape(logits.shape)
    (gradient,) = torch.autograd.grad((weights * logits.square()).sum(), features)
    return {
        "logits": logits,
        "labels": labels,
        "gradient": gradient,
        "input_unchanged": torch.equal(features, case["features"]),
    }
