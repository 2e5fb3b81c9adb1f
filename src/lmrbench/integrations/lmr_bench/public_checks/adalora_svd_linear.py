"""Check SVDLinear.forward of AdaLoRA without dropout: the outputs, and the gradients of the low-rank increment.

lmrbench defines `loaded`, `instance` and `TARGET`. The constants, such as `PARAMETERS`, tell it which parameters and
attributes the check uses; see `lmrbench.integrations.lmr_bench.adapting`.
"""

import torch

PARAMETERS = ("x",)
OPTIONS = ("merged", "fan_in_fan_out")
ATTRIBUTES = (
    "weight",
    "bias",
    "in_features",
    "out_features",
    "fan_in_fan_out",
    "r",
    "lora_alpha",
    "scaling",
    "ranknum",
    "lora_A",
    "lora_E",
    "lora_B",
    "lora_dropout",
    "merged",
    "merge_weights",
)


def every_case(seed):
    """Yield the cases that are drawn with a seed."""
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape):
        return torch.randn(*shape, generator=generator)

    settings = (
        ("an increment", {}),
        ("of rank one", {"r": 1}),
        ("of fewer ranks than at first", {"ranknum": 8.0}),
        ("with a scaling", {"scaling": 0.25}),
        ("transposed", {"fan_in_fan_out": True}),
        ("without an increment", {"r": 0}),
        ("merged", {"merged": True}),
        ("merged, transposed", {"merged": True, "fan_in_fan_out": True}),
        ("without a bias", {"bias": False}),
    )
    for name, given in settings:
        options = {
            "r": 4,
            "ranknum": 4.0,
            "scaling": 2.0,
            "merged": False,
            "fan_in_fan_out": False,
            "bias": True,
        } | given
        for shape in ((5, 6), (2, 3, 6)):
            tensors = {"x": draw(*shape), "weight": draw(7, 6), "bias": draw(7)}
            tensors |= {"A": draw(options["r"], 6), "E": draw(options["r"], 1), "B": draw(7, options["r"])}
            uses = [option for option in OPTIONS if options[option]]
            yield {"name": f"{name}, {len(shape)} dimensions", "options": options, "uses": uses, **tensors}


def observe(case):
    """Run the function on a case and return its output and gradients."""
    options = case["options"]
    increment = [case[name].clone().requires_grad_() for name in ("A", "E", "B")]
    weight = case["weight"].T.clone() if options["fan_in_fan_out"] else case["weight"].clone()
    layer = instance(
        loaded(*TARGET),
        **{name: options[name] for name in ("r", "merged", "fan_in_fan_out", "scaling")},
        **dict(zip(("lora_A", "lora_E", "lora_B"), increment, strict=True)),
        weight=weight,
        bias=case["bias"].clone() if options["bias"] else None,
        ranknum=torch.tensor([options["ranknum"]]),
        lora_dropout=torch.nn.Identity(),
        lora_alpha=options["scaling"] * max(options["r"], 1),
        merge_weights=True,
        training=not options["merged"],
        in_features=6,
        out_features=7,
    )
    output = layer.forward(case["x"].clone())
    observed = {"output": output.detach()}
    if output.requires_grad:
        observed["gradients"] = list(torch.autograd.grad(output.square().sum(), increment, materialize_grads=True))
    return observed
