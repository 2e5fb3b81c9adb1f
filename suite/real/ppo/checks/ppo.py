"""PPO: rewards of tokens, advantages with returns, and the loss with its gradients; then the experiment."""

from itertools import product

import torch

NAMES = ("old", "new", "advantages", "old_values", "values", "returns")


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape, scale=1.0):
        return scale * torch.randn(*shape, generator=generator, dtype=torch.float64)

    def integer(low, high):
        return torch.randint(low, high + 1, (), generator=generator).item()

    def uniform(low, high):
        return low + (high - low) * torch.rand((), generator=generator, dtype=torch.float64).item()

    def mask(rows, steps, kind):
        if kind in ("none", "empty", "full"):
            return None if kind == "none" else torch.full((rows, steps), kind == "full")
        if kind == "ended":
            lengths = torch.randint(1, steps + 1, (rows, 1), generator=generator)
            lengths[0] = steps
            return torch.arange(steps) < lengths
        drawn = torch.rand(rows, steps, generator=generator) < 0.6
        drawn[:1, :2], drawn[-1:, -1:] = True, False
        return drawn

    def rewards(name, rows=None, steps=None, named=True, dtype="float64", **more):
        rows, steps = rows or integer(3, 6), steps or integer(7, 9)
        return {
            "name": f"rewards, {name}",
            "scores": normal(rows, scale=2.0),
            "logprobs": -normal(rows, steps, scale=2.0).abs(),
            "reference": -normal(rows, steps, scale=2.0).abs(),
            "kl_coeff": uniform(0.05, 0.9),
            "places": torch.randint(steps, (rows,), generator=generator) if named else None,
            "dtype": dtype,
            **more,
        }

    for dtype, named in product(("float32", "float64"), (False, True)):
        yield rewards(f"{'a named token' if named else 'the last token'}, {dtype}", named=named, dtype=dtype)
    yield rewards("one response", rows=1)
    yield rewards("responses of one token", steps=1)
    yield rewards("as many tokens as responses", rows=7, steps=7)
    for coefficient in (0.0, uniform(1.5, 5)):
        yield rewards(f"a penalty {'of 0' if coefficient == 0 else 'above 1'}", kl_coeff=coefficient)

    def advantages(name, rows=None, steps=None, kind="none", dtype="float64", **more):
        rows, steps = rows or integer(3, 5), steps or integer(6, 9)
        return {
            "name": f"advantages, {name}",
            "estimated": [normal(rows, steps), 0.3 + normal(rows, steps)],
            "mask": mask(rows, steps, kind),
            "gamma": uniform(0.4, 0.99),
            "lmbda": uniform(0.4, 0.99),
            "dtype": dtype,
            **more,
        }

    for dtype, kind in product(("float32", "float64"), ("none", "ended", "any")):
        yield advantages(f"mask: {kind}, {dtype}", kind=kind, dtype=dtype)
    for number, (gamma, lmbda) in enumerate(((1.0, 1.0), (1.0, 0.95), (0.9, 1.0), (0.95, 0.0), (0.0, 0.9))):
        kind = ("ended", "none")[number % 2]
        yield advantages(f"discount {gamma}, lambda {lmbda}", kind=kind, gamma=gamma, lmbda=lmbda)
    yield advantages("one response", rows=1, kind="any")
    yield advantages("many responses", rows=40, steps=3, kind="any")
    yield advantages("long responses", rows=2, steps=integer(60, 70), kind="ended")

    def loss(name, kinds=("ended", "any"), rows=None, steps=None, moved=0.4, dtype="float64", later=(), **more):
        rows, steps = rows or integer(3, 5), steps or integer(6, 9)
        settings = {"epsilon": uniform(0.1, 0.4), "value_clip_range": uniform(0.2, 0.6), "value_coeff": uniform(0.2, 2)}
        settings |= more.pop("settings", {})
        old, given = -normal(rows, steps).abs(), {"advantages": normal(rows, steps), "old_values": normal(rows, steps)}
        new, change = old + normal(rows, steps, scale=moved), normal(rows, steps, scale=moved)
        returns = given["old_values"] + normal(rows, steps)
        changed = [settings]
        for item in later:
            changed.append(changed[-1] | item)
        # What clipping decides is clear: no ratio and no value is at an end of its range, no return midway between.
        for _ in range(3):
            for item in changed:
                bound = item["value_clip_range"]
                new = new + 0.02 * (((new - old).exp() - 1).abs() - item["epsilon"]).abs().lt(2e-3)
                change = change + 0.02 * (change.abs() - bound).abs().lt(2e-3)
                middle = given["old_values"] + (change + change.clamp(-bound, bound)) / 2
                returns = returns + 0.05 * ((returns - middle).abs().lt(2e-3) & change.abs().gt(bound))
        given |= {"old": old, "new": new, "values": given["old_values"] + change, "returns": returns}
        return {
            "name": f"loss, {name}",
            "given": {name: given[name] for name in NAMES},
            "masks": [mask(rows, steps, kind) for kind in kinds],
            "settings": settings,
            "later": list(later),
            "dtype": dtype,
            "wanted": ["new", "values"],
            "weight": uniform(0.5, 2),
            **more,
        }

    for dtype, first, second in product(("float32", "float64"), ("none", "ended", "any"), ("none", "any")):
        yield loss(f"masks: {first} and {second}, {dtype}", (first, second), dtype=dtype)
    yield loss("one token", ("none", "none"), rows=1, steps=1)
    yield loss("one response", ("any", "any"), rows=1)
    given = loss("nothing has moved", moved=0.0)
    yield given
    yield loss("moved far", rows=8, moved=2.0)
    yield loss("hardly any clipping", settings={"epsilon": 1e3, "value_clip_range": 50.0}, moved=1.0)
    yield loss("narrow ranges", settings={"epsilon": 0.01, "value_clip_range": 0.02})
    yield loss("default settings", settings={"epsilon": 0.1, "value_clip_range": 0.2, "value_coeff": 0.1}, default=True)
    for name in ("new", "values"):
        yield loss(f"gradients of {name} alone", wanted=[name])
    yield loss("without gradients", wanted=[])
    yield {"name": "experiment", "seed": seed % 1000}

    for kinds in (("empty", "any"), ("any", "empty"), ("empty", "empty")):
        yield loss(f"no token counts, {kinds}", kinds, edge=True)
    yield advantages("no token is masked", kind="full", edge=True)
    yield rewards("a penalty of 1", kl_coeff=1.0, edge=True)
    yield rewards("tensors that are not contiguous", transposed=True, edge=True)
    yield advantages("tensors that are not contiguous", kind="any", transposed=True, edge=True)
    yield loss("tensors that are not contiguous", transposed=True, edge=True)
    for name in ("epsilon", "value_clip_range", "value_coeff"):
        for value in (0.0, 1.0):
            yield loss(f"{name} is {value:g}", settings={name: value}, moved=0.4 + value, edge=True)
    later = [{"epsilon": 0.05}, {"value_clip_range": 1.1}, {"value_coeff": 3.0}, {"epsilon": 0.7}]
    yield loss("settings that change", later=later, moved=0.7, edge=True)
    yield loss("other inputs in the second call", again=True, edge=True)
    given, far = loss("values far from 0", edge=True), uniform(800, 2000)
    given["given"] |= {name: far + given["given"][name] for name in ("old_values", "values", "returns")}
    yield given


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    dtype = getattr(torch, case["dtype"])
    kind = _rewards if "scores" in case else _advantages if "estimated" in case else _loss
    numbers, facts = kind(case, dtype)
    return {"double" if dtype == torch.float64 else "single": numbers, "facts": facts}


def _described(items):
    return [[str(item.dtype), list(item.shape), item.requires_grad] for item in items]


def _laid(item, case):
    """An input of a case, in the memory by columns where the case asks for it."""
    return item.mT.contiguous().mT if case.get("transposed") and item.ndim == 2 else item


def _unchanged(items, before):
    return [torch.equal(item.detach(), kept) for item, kept in zip(items, before, strict=True)]


def _rewards(case, dtype):
    from torchtune.rlhf.rewards import get_rewards_ppo

    given = [_laid(case[name].to(dtype), case) for name in ("scores", "logprobs", "reference")]
    places = [] if case["places"] is None else [case["places"]]
    before = [item.clone() for item in given + places]
    found = get_rewards_ppo(*given, case["kl_coeff"], *places)
    facts = [_described(found), _unchanged(given + places, before)]
    again = get_rewards_ppo(given[0] + 1, *given[1:], kl_coeff=0.3, valid_score_idxs=places[0] if places else None)
    return [list(found), list(again)], facts


def _advantages(case, dtype):
    from torchtune.rlhf.rewards import estimate_advantages

    given = [_laid(item.to(dtype), case) for item in case["estimated"]]
    masks = [] if case["mask"] is None else [_laid(case["mask"], case)]
    before = [item.clone() for item in given + masks]
    found = estimate_advantages(*given, case["gamma"], case["lmbda"], *masks)
    facts = [_described(found), _unchanged(given + masks, before)]
    again = estimate_advantages(given[1], given[0], gamma=0.8, lmbda=0.6, masks=masks[0] if masks else None)
    return [list(found), list(again)], facts


def _loss(case, dtype):
    from torchtune.rlhf.loss.ppo import PPOLoss

    module = PPOLoss() if case.get("default") else PPOLoss(**case["settings"])
    given = {
        name: _laid(item, case).to(dtype, copy=True).requires_grad_(name in case["wanted"])
        for name, item in case["given"].items()
    }
    both = [None if item is None else _laid(item, case) for item in case["masks"]]
    masks = [item for item in both if item is not None]
    before = [item.detach().clone() for item in (*given.values(), *masks)]
    numbers, facts = [], []
    calls = [(change, list(given.values()), both) for change in ({}, *case["later"])]
    if case.get("again"):
        calls.append(({}, [item.flip(0) for item in given.values()], both[::-1]))
    for change, items, chosen in calls:
        vars(module).update(change)
        found = module(*items, *chosen)
        numbers.append([item.detach() for item in found])
        facts += [_described(found), [module.epsilon, module.value_clip_range, module.value_coeff]]
        if case["wanted"]:
            wanted = [given[name] for name in case["wanted"]]
            numbers += torch.autograd.grad(case["weight"] * found[0], wanted, materialize_grads=True)
    return numbers, [*facts, _unchanged([*given.values(), *masks], before)]
