"""Images, views, the model, the loss with its gradient, training, and evaluation. In double precision throughout."""

from contextlib import contextmanager

import torch

# Views, images, width, configured batch.
SHAPES = ((2, 6, 8, 6), (2, 5, 4, 8), (3, 5, 7, 4), (4, 2, 5, 2))
# Augmentation, views, images, batch, epochs.
RUNS = (("both", 2, 10, 4, 2), ("crop", 3, 6, 3, 1), ("distort", 2, 8, 8, 3))


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape):
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    def uniform(low, high):
        return low + (high - low) * torch.rand((), generator=generator, dtype=torch.float64).item()

    for count in (3, 20):
        yield {"name": f"{count} images", "kind": "images", "patterns": draw(6, 8, 8), "count": count, "seed": seed}
    for size, count, n_views in ((8, 5, 2), (11, 20, 3), (6, 2, 4)):
        pixels = draw(count, size, size)
        yield {"name": f"views of size {size}", "kind": "views", "pixels": pixels, "n_views": n_views, "seed": seed}
    for number, sizes in enumerate(({}, {"width": 7, "projection": 4, "seed": seed % 1000})):
        yield {"name": f"model {number}", "kind": "model", "pixels": draw(5, 4, 4), "sizes": sizes}
    for n_views, images, width, batch in SHAPES:
        config = {"n_views": n_views, "temperature": uniform(0.05, 2), "batch": batch}
        features = (0.2 + 3 * draw(n_views * images, 1).abs()) * draw(n_views * images, width)
        yield {"name": f"{images} images, {n_views} views", "kind": "loss", "features": features, "config": config}
    for augmentation, n_views, images, batch, epochs in RUNS:
        config = {"augmentation": augmentation, "n_views": n_views, "batch": batch, "epochs": epochs}
        config |= {"temperature": uniform(0.1, 1), "learning_rate": uniform(0.01, 0.1)}
        pixels = draw(images, 8, 8)
        yield {
            "name": f"training, {augmentation}",
            "kind": "training",
            "pixels": pixels,
            "config": config,
            "seed": seed,
        }
    for penalty in (None, uniform(0.1, 3)):
        images = {"pixels": 2 * draw(22, 5, 5) + draw(22, 1, 1), "labels": torch.randint(6, (22,), generator=generator)}
        options = {} if penalty is None else {"penalty": penalty}
        yield {"name": f"evaluation, {len(options)} options", "kind": "evaluation", **images, "options": options}


@contextmanager
def double_precision():
    threads, dtype = torch.get_num_threads(), torch.get_default_dtype()
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        torch.set_default_dtype(dtype)


def observe(case):
    observations = {
        "images": images,
        "views": views,
        "model": model,
        "loss": loss,
        "training": training,
        "evaluation": evaluation,
    }
    with double_precision():
        return observations[case["kind"]](case)


def seeded(case):
    return torch.Generator().manual_seed(case["seed"] % 1000)


def images(case):
    from data import draw_images

    found = draw_images(case["patterns"], case["count"], seeded(case))
    return {"pixels": found.pixels, "labels": found.labels}


def views(case):
    from augment import AUGMENTATIONS, crop, distort, make_views

    pixels, found = case["pixels"].clone(), {}
    found["crop"], found["distort"] = crop(pixels, seeded(case)), distort(pixels, seeded(case))
    for name in AUGMENTATIONS:
        found[name] = make_views(pixels, name, case["n_views"], seeded(case))
    return found | {"pixels": pixels}


def model(case):
    from models import ContrastiveModel

    pixels = case["pixels"].clone().requires_grad_()
    built = ContrastiveModel(16, **case["sizes"])
    found = built(pixels)
    [gradient] = torch.autograd.grad((found * torch.linspace(0.5, 1, found.numel()).view_as(found)).sum(), [pixels])
    return {"representations": built.encoder(pixels), "projections": found, "gradient": gradient}


def loss(case):
    from simclr import SimCLR, SimCLRConfig

    features = case["features"].clone().requires_grad_()
    logits, labels = SimCLR(None, SimCLRConfig(**case["config"])).info_nce_loss(features)
    mean = torch.nn.functional.cross_entropy(logits, labels)
    [gradient] = torch.autograd.grad(mean, [features])
    # How classes are ordered is open: what counts is the logit of the label, and all of them together.
    labelled = logits.gather(1, labels.unsqueeze(1))
    return {"loss": mean, "gradient": gradient, "labelled": labelled, "logits": logits.sort(dim=1).values}


def training(case):
    from models import ContrastiveModel
    from simclr import SimCLR, SimCLRConfig

    trained = ContrastiveModel(64, width=24, projection=4, seed=case["seed"] % 1000)
    last = SimCLR(trained, SimCLRConfig(**case["config"])).train(case["pixels"].clone(), seeded(case))
    return {"loss": last, "projections": trained(case["pixels"]), "representations": trained.encoder(case["pixels"])}


def evaluation(case):
    from data import Images
    from evaluate import linear_evaluation
    from models import ContrastiveModel

    frozen = ContrastiveModel(25, width=4, projection=3, seed=5)
    halves = [Images(case["pixels"][rows], case["labels"][rows]) for rows in (slice(10), slice(10, None))]
    return {"share": linear_evaluation(frozen, *halves, **case["options"])}
