"""Outputs, depth weights and gradients over shapes, settings and dtypes; then the experiment."""

from itertools import product

import torch


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape, kind=torch.float32):
        return torch.randn(*shape, generator=generator, dtype=torch.float64).to(kind)

    def uniform(*shape, low=0.0, high=1.0, kind=torch.float32):
        return (low + (high - low) * torch.rand(*shape, generator=generator, dtype=torch.float64)).to(kind)

    def integer(low, high):
        return torch.randint(low, high + 1, (), generator=generator).item()

    def real(low, high):
        return uniform((), low=low, high=high, kind=torch.float64).item()

    def case(name, kind=torch.float32, leading=None, count=None, norm=False, column=False, **more):
        width, count = integer(3, 9), count or integer(2, 6)
        leading = (integer(1, 3), integer(2, 4)) if leading is None else leading
        spread, both_signs = more.pop("spread", None), more.pop("both_signs", False)
        values = [normal(*leading, width, kind=kind) * real(0.4, 2.5) for _ in range(count)]
        other = torch.float32 if kind == torch.bfloat16 else kind
        given = {
            "query": normal(width, 1, kind=other) if column else normal(width, kind=other),
            "rms_weight": uniform(width, low=0.4, high=1.8, kind=other),
        }
        if norm:
            given["output_rms_weight"] = uniform(width, low=0.4, high=1.8, kind=other)
        if spread:
            # Sources that all lie along the query, with logits of about `spread`.
            values = [0.05 * value + given["query"].flatten().sign() for value in values]
            if both_signs:
                # The logits of one token are far above zero, those of the next far below.
                signs = torch.ones(leading[-1], 1)
                signs[::2] = -1
                values = [signs * value for value in values]
            more["options"]["scale"] = spread / (given["query"].flatten().abs() * given["rms_weight"]).sum().item()
        return {
            "name": name,
            "given": given,
            "sources": values,
            "options": {},
            "loss": normal(*leading, width, kind=torch.float64),
            "weights_loss": normal(count, *leading, kind=torch.float64),
            "key": "near",
            "as_tuple": bool(integer(0, 1)),
            **more,
        }

    for kind, norm, weights in product((torch.float32, torch.float64), (False, True), (False, True)):
        name = f"{kind}, {'norm, ' if norm else ''}{'weights' if weights else 'output'}"
        options = {"return_weights": True} if weights else {}
        yield case(name, kind, norm=norm, options=options)
        given = options | {"scale": real(0.2, 3.0), "rms_eps": real(0.05, 0.9)}
        yield case(f"{name}, settings", kind, norm=norm, options=given)
        yield case(
            f"{name}, scale below zero", kind, norm=norm, column=True, options=options | {"scale": -real(0.3, 2.0)}
        )
    for shape in ((integer(2, 5),), (2, integer(1, 3), 2), (1, 1)):
        options = {"return_weights": True, "scale": real(0.5, 2.0)}
        yield case(f"{len(shape)} leading dimensions, {shape[0] == 1}", leading=shape, norm=True, options=options)
    yield case("one source", count=1, norm=True, options={"return_weights": True})
    yield case("many sources", count=integer(12, 20), options={"return_weights": True, "scale": real(1.0, 2.0)})
    yield case("a large epsilon", norm=True, options={"rms_eps": real(2.0, 9.0), "return_weights": True})
    yield case("a scale of zero", norm=True, options={"scale": 0.0, "rms_eps": 1.0, "return_weights": True})
    yield case(
        "an epsilon of one", norm=True, options={"scale": real(0.5, 2.0), "rms_eps": 1.0, "return_weights": True}
    )
    yield case("false is given", options={"return_weights": False})
    given = case("by position", norm=True)
    yield given | {"positional": [real(0.1, 0.9), real(0.4, 2.0), True]}
    given = case("small sources", norm=True, options={"return_weights": True})
    yield given | {"sources": [1.5e-2 * value for value in given["sources"]]}
    given = case("one source many times", count=3, options={"return_weights": True})
    yield given | {
        "sources": [*given["sources"], given["sources"][1].clone()],
        "weights_loss": normal(4, *given["loss"].shape[:-1]),
    }
    yield {"name": "experiment", "seed": seed % 1000}

    options = {"return_weights": True}
    for norm in (False, True):
        yield case(f"vectors, {norm}", leading=(), norm=norm, options=options | {"scale": real(0.5, 2.0)}, edge=True)
        yield case(f"no rows, {norm}", leading=(0, 3), norm=norm, options=options, edge=True)
        yield case(f"half precision, {norm}", torch.bfloat16, norm=norm, options=options, key="half", edge=True)
        yield case(
            f"logits far from zero, {norm}", norm=norm, spread=real(200, 400), options={**options}, key="far", edge=True
        )
    given = case("no sources", edge=True)
    yield given | {"sources": []}
    for norm in (False, True):
        yield case(
            f"logits far apart, {norm}",
            norm=norm,
            spread=real(200, 400),
            both_signs=True,
            options={**options},
            key="far",
            edge=True,
        )


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    from fla.ops.attnres.naive import naive_attnres

    given = {name: item.clone().requires_grad_() for name, item in case["given"].items()}
    sources = [item.clone().requires_grad_() for item in case["sources"]]
    row = tuple(sources) if case["as_tuple"] else sources
    try:
        if "positional" in case:
            found = naive_attnres(
                given["query"], row, given["rms_weight"], given["output_rms_weight"], *case["positional"]
            )
        else:
            others = {name: item for name, item in given.items() if name not in ("query", "rms_weight")}
            found = naive_attnres(given["query"], row, given["rms_weight"], **others, **case["options"])
    except ValueError:
        return {"refused": True}
    seen = {"single": isinstance(found, torch.Tensor)}
    output, weights = (found, None) if isinstance(found, torch.Tensor) else found
    loss = (output * case["loss"]).sum()
    if weights is not None:
        loss = loss + (weights * case["weights_loss"]).sum()
    leaves = [*given.values(), *sources]
    gradients = torch.autograd.grad(loss, leaves, materialize_grads=True)
    far = case["key"] == "far"
    seen["gradients"] = [item.isfinite().all().item() if far else item.detach() for item in gradients]
    both = [*case["given"].values(), *case["sources"]]
    return {
        case["key"]: seen | {"output": output.detach()},
        # Half precision rounds the output, but not the weights.
        "depth_far" if far else "depth": None if weights is None else weights.detach(),
        "unchanged": all(torch.equal(old, new.detach()) for old, new in zip(both, leaves, strict=True)),
    }
