"""Check focal_loss.forward of ERGO: the mean and the sum of losses, with `alpha` as a factor or a list of weights.

lmrbench defines `loaded`, `instance` and `TARGET`. The constants, such as `PARAMETERS`, tell it which parameters and
attributes the check uses; see `lmrbench.integrations.lmr_bench.adapting`.
"""

import torch

PARAMETERS = ("preds", "labels")
CONSTRUCTOR = ("alpha", "gamma", "num_classes", "size_average")
OPTIONS = ("size_average",)


def every_case(seed):
    """Yield the cases that are drawn with a seed."""
    generator = torch.Generator().manual_seed(seed)
    for number, gamma in enumerate((2, 0, 1, 3, 2, 5)):
        count = (2, 3, 4, 3, 2, 5)[number]
        weights = (0.25 + 2 * torch.rand(count, generator=generator)).tolist()
        for kind, alpha in (("a factor", (0.25, 0.75, 0.6, 0.4, 0.9, 0.5)[number]), ("weights", weights)):
            for average in (True, False):
                yield {
                    "name": f"{kind}, {count} classes, gamma {gamma}, {'mean' if average else 'sum'}",
                    "preds": 2 * torch.randn(9 + number, count, generator=generator),
                    "labels": torch.randint(0, count, (9 + number,), generator=generator),
                    "settings": {"alpha": alpha, "gamma": gamma, "num_classes": count, "size_average": average},
                    "uses": [] if average else ["size_average"],
                }


def observe(case):
    """Run the function on a case and return the loss."""
    criterion = loaded(*TARGET, ("__init__",))(**case["settings"])
    return {"loss": criterion.forward(case["preds"].clone(), case["labels"].clone()).detach()}
