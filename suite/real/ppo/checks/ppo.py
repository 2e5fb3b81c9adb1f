"""Rewards, advantages and losses with gradients, over sizes, masks, dtypes, layouts and settings; the experiment."""

import torch

NAMES = ("old", "new", "advantages", "old_values", "values", "returns")


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape, scale=1.0):
        return scale * torch.randn(*shape, generator=generator, dtype=torch.float64)

    def mask(rows, steps, kind):
        if kind == "none":
            return None
        if kind == "full":
            return torch.ones(rows, steps, dtype=torch.bool)
        if kind == "empty":
            return torch.zeros(rows, steps, dtype=torch.bool)
        if kind == "prefix":
            lengths = torch.randint(1, steps + 1, (rows, 1), generator=generator)
            lengths[0] = steps
            return torch.arange(steps) < lengths
        if kind in ("one", "two"):
            places = torch.randperm(rows * steps, generator=generator)[: 1 if kind == "one" else 2]
            return torch.zeros(rows * steps, dtype=torch.bool).index_fill(0, places, True).view(rows, steps)
        drawn = torch.rand(rows, steps, generator=generator) < 0.6
        drawn.view(-1)[:2] = True
        return drawn

    def rewards(name, rows=4, steps=7, places=None, kl_coeff=0.2, scale=1.0, dtype="float32", layout="plain"):
        return {
            "name": f"rewards, {name}",
            "scores": normal(rows, scale=scale),
            "logprobs": -normal(rows, steps, scale=scale).abs(),
            "reference": -normal(rows, steps, scale=scale).abs(),
            "kl_coeff": kl_coeff,
            "places": torch.tensor(places) if isinstance(places, list) else places,
            "dtype": dtype,
            "layout": layout,
        }

    some = torch.randint(7, (4,), generator=generator)
    yield rewards("the last token")
    yield rewards("named tokens", places=some)
    yield rewards("first and last tokens", places=[0, 6, 6, 0])
    yield rewards("the same token of all", places=[3, 3, 3, 3])
    yield rewards("the first token of all", places=[0, 0, 0, 0])
    yield rewards("one response", rows=1)
    yield rewards("one response, named", rows=1, places=[2])
    yield rewards("one token", steps=1)
    yield rewards("one token, named", steps=1, places=[0, 0, 0, 0])
    yield rewards("as many tokens as responses", rows=7, places=[0, 3, 6, 2, 5, 1, 4])
    for coefficient in (0.0, 1.0, 10.0):
        yield rewards(f"a coefficient of {coefficient}", places=some, kl_coeff=coefficient)
    yield rewards("double precision", places=some, dtype="float64")
    yield rewards("double precision, the last token", dtype="float64")
    yield rewards("scores of zero", places=some) | {"scores": torch.zeros(4).double()}
    yield rewards("large numbers", places=some, dtype="float64", scale=150.0)
    for layout in ("strided", "transposed", "expanded"):
        yield rewards(f"a layout that is {layout}", places=some, layout=layout)

    def advantages(name, rows=4, steps=8, kind="none", gamma=0.97, lmbda=0.9, scale=1.0, dtype="float32", **more):
        return {
            "name": f"advantages, {name}",
            "estimated": [normal(rows, steps, scale=scale), 0.3 + normal(rows, steps, scale=scale)],
            "mask": mask(rows, steps, kind),
            "gamma": gamma,
            "lmbda": lmbda,
            "dtype": dtype,
            "layout": more.get("layout", "plain"),
        }

    for kind in ("none", "full", "prefix", "holes", "two"):
        if kind != "two":
            yield advantages(f"a mask that is {kind}", kind=kind)
        yield advantages(f"a mask that is {kind}, double precision", kind=kind, dtype="float64")
    for gamma, lmbda in ((1.0, 1.0), (1.0, 0.0), (0.0, 0.9), (0.9, 1.0), (0.5, 0.5), (1.0, 0.95), (0.0, 0.0)):
        yield advantages(f"discount {gamma}, lambda {lmbda}", gamma=gamma, lmbda=lmbda, kind="prefix")
    yield advantages("one token", steps=1, dtype="float64")
    yield advantages("one token, masked", steps=1, kind="two", dtype="float64")
    yield advantages("two tokens in all", rows=1, steps=2, dtype="float64")
    yield advantages("one response", rows=1, kind="holes")
    yield advantages("many tokens", rows=2, steps=300, kind="prefix", dtype="float64")
    for factor in (0.1, 1.0):
        yield advantages(f"many tokens, all factors {factor}", 2, 300, gamma=factor, lmbda=factor, dtype="float64")
    for kind in ("none", "holes"):
        # Little scatter beside the mean.
        given = advantages(f"far from zero, a mask that is {kind}", kind=kind, gamma=0.0)
        yield given | {"estimated": [0.05 * normal(4, 8), 300 + 0.05 * normal(4, 8)]}
    yield advantages("many responses", rows=200, steps=3, kind="holes")
    yield advantages("large numbers", scale=150.0, kind="prefix", dtype="float64")
    yield advantages("small numbers", scale=0.02, kind="prefix")
    for layout in ("strided", "transposed", "expanded"):
        yield advantages(f"a layout that is {layout}", kind="holes", layout=layout)

    def loss(name, rows=3, steps=6, kinds=("none", "none"), spread=0.5, scale=1.0, dtype="float32", **more):
        settings = {"epsilon": 0.2, "value_clip_range": 0.4, "value_coeff": 0.3} | more.pop("settings", {})
        later = more.pop("later", [])
        all_settings = [settings]
        for change in later:
            all_settings.append(all_settings[-1] | change)
        given = {
            "old": -normal(rows, steps).abs(),
            "advantages": normal(rows, steps, scale=scale),
            "old_values": normal(rows, steps, scale=scale),
        }
        # Drawn anew until all is clear that clipping may decide.
        new, values, returns = (torch.full((rows, steps), torch.nan, dtype=torch.float64) for _ in range(3))
        unclear = torch.ones(rows, steps, dtype=torch.bool)
        while unclear.any():
            count = int(unclear.sum())
            new[unclear] = given["old"][unclear] + normal(count, scale=spread).clamp(-9.9, 9.9)
            values[unclear] = given["old_values"][unclear] + normal(count, scale=spread * scale)
            returns[unclear] = given["old_values"][unclear] + normal(count, scale=scale)
            unclear = torch.zeros(rows, steps, dtype=torch.bool)
            for setting in all_settings:
                ratio = (new - given["old"]).exp()
                moved = values - given["old_values"]
                low, high = (
                    given["old_values"] - setting["value_clip_range"],
                    given["old_values"] + setting["value_clip_range"],
                )
                clipped = values.maximum(low).minimum(high)
                unclear |= ((ratio - 1).abs() - setting["epsilon"]).abs() < 1e-3
                unclear |= (moved.abs() - setting["value_clip_range"]).abs() < 1e-3
                unclear |= ((values - returns).abs() - (clipped - returns).abs()).abs().sub(1e-3).lt(0) & (
                    values != clipped
                )
        given |= {"new": new, "values": values, "returns": returns}
        if more.pop("unmoved", False):
            given["new"] = given["old"].clone()
            given["values"] = given["old_values"].clone()
        # Some tokens have no advantage.
        if more.pop("zeros", False):
            given["advantages"][:, ::2] = 0.0
        return {
            "name": f"loss, {name}",
            "given": {name: given[name] for name in NAMES},
            "masks": [mask(rows, steps, kind) for kind in kinds],
            "settings": settings,
            "later": later,
            "dtype": dtype,
            "layout": "plain",
            "wanted": ["new", "values"],
            "train": True,
            "weight": 1.7,
            **more,
        }

    for kinds in (("none", "none"), ("prefix", "none"), ("none", "prefix"), ("prefix", "holes"), ("full", "full")):
        yield loss(f"masks {kinds[0]} and {kinds[1]}", kinds=kinds)
        yield loss(f"masks {kinds[0]} and {kinds[1]}, double precision", rows=5, kinds=kinds, dtype="float64")
    yield loss("no token counts", kinds=("empty", "empty"))
    yield loss("no token counts for the policy", kinds=("empty", "holes"))
    yield loss("no token counts for values", kinds=("holes", "empty"))
    yield loss("two tokens count", kinds=("two", "two"))
    yield loss(
        "one token counts", kinds=("one", "one"), scale=150.0, dtype="float64", settings={"value_clip_range": 80.0}
    )
    yield loss("one token", rows=1, steps=1, dtype="float64")
    yield loss("one response", rows=1, kinds=("holes", "prefix"))
    yield loss("one step", steps=1, rows=9, kinds=("holes", "holes"))
    yield loss("many tokens", rows=40, steps=60, kinds=("prefix", "prefix"), dtype="float64")
    yield loss("tens of thousands of tokens", rows=190, steps=200, kinds=("full", "full"))
    yield loss("nothing has moved", unmoved=True, kinds=("prefix", "prefix"))
    yield loss("advantages of zero", zeros=True, dtype="float64", kinds=("none", "prefix"))
    yield loss("advantages of zero, all clipped", zeros=True, spread=3.0, settings={"epsilon": 0.01}, dtype="float64")
    yield loss("hardly moved", spread=0.05)
    yield loss("moved far", spread=4.0, rows=6, dtype="float64", kinds=("holes", "holes"))
    for given in (
        loss("small probabilities", kinds=("prefix", "none")),
        loss("small probabilities, double precision", kinds=("none", "prefix"), dtype="float64"),
    ):
        shifted = {name: given["given"][name] - 200 for name in ("old", "new")}
        yield given | {"given": given["given"] | shifted}
    given = loss("values far from zero", rows=6, kinds=("none", "prefix"))
    far = {name: given["given"][name] + 200 for name in ("old_values", "values", "returns")}
    yield given | {"given": given["given"] | far}
    yield loss("large numbers", scale=150.0, rows=6, dtype="float64", settings={"value_clip_range": 80.0})
    for name, values in {
        "epsilon": (0.0, 0.02, 0.9, 1.0, 1000.0),
        "value_clip_range": (0.0, 0.03, 1.0, 2.0, 500.0),
        "value_coeff": (0.0, 1.0, 10.0),
    }.items():
        for value in values:
            yield loss(f"{name} {value}", rows=6, settings={name: value}, kinds=("prefix", "holes"), dtype="float64")
    for epsilon in (0.9, 1.0):
        yield loss(f"epsilon {epsilon}, moved far", rows=8, settings={"epsilon": epsilon}, spread=3.0, dtype="float64")
    later = [{"epsilon": 0.05}, {"value_clip_range": 1.1}, {"value_coeff": 2.0}, {"epsilon": 0.7, "value_coeff": 0.0}]
    yield loss("settings that change", later=later, rows=6, dtype="float64", kinds=("none", "holes"))
    yield loss("default settings", settings={"epsilon": 0.1, "value_clip_range": 0.2, "value_coeff": 0.1}, default=True)
    for wanted in ([], ["new"], ["values"]):
        yield loss(f"gradients of {' and '.join(wanted) or 'nothing'}", wanted=wanted, kinds=("holes", "holes"))
    yield loss("eval mode", train=False, kinds=("prefix", "none"))
    yield loss("without gradients", no_grad=True, kinds=("prefix", "holes"))
    for layout in ("strided", "transposed", "expanded"):
        # What is expanded has one row, and all responses are alike but for masks.
        yield loss(f"a layout that is {layout}", layout=layout, kinds=("holes", "prefix"))
    yield {"name": "experiment", "seed": seed % 1000}


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    dtype = getattr(torch, case["dtype"])
    key = "double" if case["dtype"] == "float64" else "single"
    if "scores" in case:
        numbers, facts = _rewards(case, dtype)
    elif "estimated" in case:
        numbers, facts = _advantages(case, dtype)
    else:
        numbers, facts = _loss(case, dtype)
    return {key: numbers, "facts": facts}


def _rewards(case, dtype):
    from torchtune.rlhf.rewards import get_rewards_ppo

    given = [_laid_out(case[name].to(dtype, copy=True), case["layout"]) for name in ("scores", "logprobs", "reference")]
    places = case["places"]
    more = (
        []
        if places is None
        else [_laid_out(places.clone(), case["layout"] if case["layout"] == "strided" else "plain")]
    )
    before = [item.clone() for item in given + more]
    found = get_rewards_ppo(*given, case["kl_coeff"], *more)
    numbers = [item.clone() for item in found]
    facts = [type(found).__name__, [_described(item) for item in found]]
    # Each result is a tensor of its own.
    for place, item in enumerate(found):
        item.fill_(1000.0 + place)
    facts.append([bool((item == 1000.0 + place).all()) for place, item in enumerate(found)])
    facts.append([torch.equal(item, kept) for item, kept in zip(given + more, before, strict=True)])
    again = get_rewards_ppo(*given, kl_coeff=0.5, valid_score_idxs=more[0] if more else None)
    return [numbers, list(again)], facts


def _advantages(case, dtype):
    from torchtune.rlhf.rewards import estimate_advantages

    given = [_laid_out(item.to(dtype, copy=True), case["layout"]) for item in case["estimated"]]
    mask = None if case["mask"] is None else _laid_out(case["mask"].clone(), case["layout"])
    before = [item.clone() for item in given], None if mask is None else mask.clone()
    found = estimate_advantages(*given, case["gamma"], case["lmbda"], *([] if mask is None else [mask]))
    numbers = [item.clone() for item in found]
    facts = [type(found).__name__, [_described(item) for item in found]]
    if mask is not None:
        facts.append(bool((found[0][~mask] == 0).all()))
    for item in found:
        item.fill_(1000.0)
    facts.append([torch.equal(item, kept) for item, kept in zip(given, before[0], strict=True)])
    facts.append(mask is None or torch.equal(mask, before[1]))
    # The same tensors once more, and their first response.
    again = estimate_advantages(*given, gamma=0.8, lmbda=0.6, masks=mask)
    numbers += [*again, *estimate_advantages(*given, gamma=0.8, lmbda=0.6006, masks=mask)]
    numbers += [estimate_advantages(*given, case["gamma"], case["lmbda"])[1]]
    return numbers, facts


def _loss(case, dtype):
    from torchtune.rlhf.loss.ppo import PPOLoss

    module = PPOLoss() if case.get("default") else PPOLoss(**case["settings"])
    module.train(case["train"])
    given = {}
    for name in NAMES:
        given[name] = _laid_out(case["given"][name].to(dtype, copy=True), case["layout"])
        if name in case["wanted"]:
            given[name].requires_grad_()
    masks = [None if item is None else item.clone() for item in case["masks"]]
    before = [item.detach().clone() for item in given.values()]
    numbers, facts = [], []
    for change in ({}, *case["later"], {}):
        for name, value in change.items():
            setattr(module, name, value)
        kept = {name: value for name, value in vars(module).items() if not name.startswith("_")}
        with torch.set_grad_enabled(not case.get("no_grad", False)):
            found = module(*given.values(), *masks)
        numbers.append([item.detach().clone() for item in found])
        facts.append([type(found).__name__, [[*_described(item), item.requires_grad] for item in found]])
        if found[0].requires_grad:
            for item in given.values():
                item.grad = None
            (case["weight"] * found[0]).backward()
            for name in case["wanted"]:
                numbers.append(given[name].grad.clone())
                facts.append(str(given[name].grad.dtype))
            facts.append([item.grad is None for item in given.values()])
        facts.append({name: value for name, value in vars(module).items() if not name.startswith("_")} == kept)
        facts.append(module.training)
    facts.append([torch.equal(item.detach(), old) for item, old in zip(given.values(), before, strict=True)])
    facts.append([item is None or torch.equal(item, old) for item, old in zip(masks, case["masks"], strict=True)])
    return numbers, facts


def _described(item):
    return [str(item.dtype), list(item.shape)]


def _laid_out(item, layout):
    if layout == "strided":
        return torch.stack([item, ~item if item.dtype == torch.bool else item + 1], dim=-1)[..., 0]
    if layout == "transposed" and item.dim() == 2:
        return item.T.contiguous().T
    if layout == "expanded" and item.dim() == 2 and item.dtype != torch.bool:
        return item[:1].clone().expand_as(item)
    return item
