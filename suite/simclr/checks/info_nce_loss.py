"""info_nce_loss: logits, labels and gradients, for views, images, lengths and dtypes; then the experiment."""

from itertools import product

import torch


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def integer(low, high):
        return torch.randint(low, high + 1, (), generator=generator).item()

    def uniform(low, high):
        return low + (high - low) * torch.rand((), generator=generator, dtype=torch.float64).item()

    def rows(count, width):
        """Projections of different lengths."""
        return _draw(generator, count, width)

    def batch(n_views, images, configured, dtype=torch.float64, **extra):
        """Projections with the configuration that they are called with."""
        features = rows(n_views * images, integer(3, 9)).to(dtype)
        config = {"n_views": n_views, "temperature": uniform(0.05, 2), "batch": configured}
        return {"features": features, "config": config, **extra}

    for n_views, dtype, size in product((2, 3, 4), (torch.float32, torch.float64), ("full", "short", "longer")):
        images = integer(2, 7)
        configured = {"full": images, "short": images + integer(1, 4), "longer": max(images - integer(1, 3), 1)}[size]
        yield {"name": f"{n_views} views, {dtype}, {size}", **batch(n_views, images, configured, dtype)}
    for n_views, images in ((2, 40), (12, 3)):
        yield {"name": f"{n_views} views of {images}", **batch(n_views, images, images)}
    wide = {"features": rows(6, 16).T.contiguous().T, "config": {"n_views": 3, "temperature": uniform(0.2, 0.6)}}
    yield {"name": "transposed in memory", **wide}
    yield {"name": "a width of one", "features": rows(6, 1), "config": {"n_views": 2, "temperature": uniform(0.2, 2)}}
    near = torch.nn.functional.normalize(rows(8, 5)) * (0.999 + 0.002 * torch.rand(8, 1, generator=generator))
    yield {"name": "nearly normalised", "features": near, "config": {"n_views": 2, "temperature": uniform(0.2, 2)}}
    given = {"n_views": 3, "temperature": 1.0}
    yield {"name": "a temperature of one", "features": rows(3 * integer(2, 4), 5), "config": given}
    yield {"name": "the default settings", "features": rows(10, 5), "config": {}}
    yield {"name": "experiment", "seed": seed % 1000}

    for n_views in (2, 3, 5):
        yield {"name": f"{n_views} views of one image", **batch(n_views, 1, 4), "edge": True}
    for n_views in (2, 3):
        earlier = batch(5 - n_views, 2 * n_views, 4)
        other = batch(n_views, 2 * (5 - n_views), 4, earlier=earlier)
        yield {"name": f"{n_views} views after another number", **other, "edge": True}
    for images in (2, 5):
        yield {"name": f"{images} images, again", **batch(2, images, 4, earlier=batch(2, 7, 7)), "edge": True}
    # The ends of the ranges, with short and long projections in one batch.
    for temperature, (dtype, lengths) in product((0.001, 100.0), LENGTHS.items()):
        found = batch(3, 4, 4)
        features = torch.nn.functional.normalize(found["features"])
        features *= torch.tensor(lengths)[torch.randperm(12, generator=generator) % 2].unsqueeze(1)
        found["config"]["temperature"] = temperature
        found["features"] = features.to(dtype)
        yield {"name": f"{dtype}, temperature {temperature}", **found, "edge": True}
    for dtype in (torch.float16, torch.bfloat16):
        for n_views in (2, 3):
            yield {"name": f"{n_views} views, {dtype}", **batch(n_views, 5, 5, dtype), "edge": True}
    # bfloat16 cannot count these images.
    yield {"name": "many images in half precision", **batch(2, 258, 258, torch.bfloat16), "edge": True}


LENGTHS = {
    torch.float64: (1.01e-6, 0.99e6),
    torch.float32: (1.01e-6, 0.99e6),
    torch.float16: (0.101, 99.0),
    torch.bfloat16: (0.101, 99.0),
}


def timed(seed):
    generator = torch.Generator().manual_seed(seed)
    for n_views, images in ((2, 256), (2, 256), (4, 96)):
        features = _draw(generator, n_views * images, 64).float()
        config = {"n_views": n_views, "temperature": 0.5, "batch": images}
        yield {"name": f"{n_views} views of {images}", "features": features, "config": config}


def _draw(generator, rows, width):
    scales = 0.2 + 3 * torch.rand(rows, 1, generator=generator, dtype=torch.float64)
    return scales * torch.randn(rows, width, generator=generator, dtype=torch.float64)


def observe(case):
    if "seed" in case:
        from experiment import run

        # Rates may jump where rounding decides.
        return {"experiment": {stage: metrics for stage, metrics in run(case["seed"]).items() if stage != "rates"}}
    from simclr import SimCLR, SimCLRConfig

    trainer = SimCLR(None, SimCLRConfig(**case.get("earlier", case)["config"]))
    if "earlier" in case:
        trainer.info_nce_loss(case["earlier"]["features"])
        trainer.config = SimCLRConfig(**case["config"])
    features = case["features"].clone().requires_grad_()
    logits, labels = trainer.info_nce_loss(features)
    observed = {"labels": labels, "dtype": str(logits.dtype)}
    if case.get("edge"):
        plain = case["features"].clone()
        trainer.info_nce_loss(plain)
        observed["unchanged"] = torch.equal(plain, case["features"])
    # Cosines, whatever the temperature is.
    cosines = logits.double() * trainer.config.temperature
    weights = torch.linspace(1, 2, logits.numel(), dtype=torch.float64).reshape(logits.shape)
    [gradient] = torch.autograd.grad((weights * cosines.square()).sum(), [features])
    # Of order one at every length.
    gradient = gradient.double() * case["features"].double().norm(dim=1, keepdim=True)
    dtype = str(features.dtype).removeprefix("torch.")
    if "16" in dtype:
        # Correct versions round in different places.
        return {**observed, "finite": bool(cosines.isfinite().all()), "half": cosines}
    return {**observed, dtype: {"cosines": cosines, "gradient": gradient}}
