"""Check SimCLR.info_nce_loss for two views: each row's logits, the logit of its label, and the resulting loss.

lmrbench defines `loaded`, `instance` and `TARGET`. The constants, such as `PARAMETERS`, tell it which parameters and
attributes the check uses; see `lmrbench.integrations.lmr_bench.adapting`.
"""

from types import SimpleNamespace

import torch

PARAMETERS = ("features",)
ATTRIBUTES = (
    "args.batch_size",
    "args.n_views",
    "args.temperature",
    "args.device",
    "batch_size",
    "n_views",
    "temperature",
    "device",
)


def every_case(seed):
    """Yield the cases that are drawn with a seed."""
    generator = torch.Generator().manual_seed(seed)
    for number, temperature in enumerate((0.07, 0.1, 0.2, 0.5, 1.0, 0.07, 0.5, 2.0)):
        images, width = ((4, 8), (6, 5), (2, 16), (16, 8), (3, 4), (32, 12), (1, 6), (8, 3))[number]
        features = 2 * torch.randn(2 * images, width, generator=generator)
        yield {"name": f"{images} images, temperature {temperature}", "features": features, "temperature": temperature}


def observe(case):
    """Run the function on a case and return the logits and the loss."""
    settings = {"batch_size": len(case["features"]) // 2, "n_views": 2, "temperature": case["temperature"]}
    settings["device"] = torch.device("cpu")
    trainer = instance(loaded(*TARGET), args=SimpleNamespace(**settings), **settings)
    logits, labels = trainer.info_nce_loss(case["features"].clone())
    # The order of the columns is not specified, so the logits of a row are sorted.
    labelled = logits.gather(1, labels.long().unsqueeze(1))
    loss = torch.nn.functional.cross_entropy(logits, labels.long())
    return {"labelled": labelled, "logits": logits.sort(dim=1).values, "loss": loss}
