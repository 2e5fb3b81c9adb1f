"""warp: which tokens are kept, over thresholds, least numbers, fillings and distributions; then the experiment."""

import math

import torch

CLEAR = 2e-3


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def uniform(low, high):
        return low + (high - low) * torch.rand((), generator=generator, dtype=torch.float64).item()

    def integer(low, high):
        return torch.randint(low, high + 1, (), generator=generator).item()

    def row(width, epsilons, dtype, spread, holes, equal, offset):
        """Logits whose decisions are all clear, as the dtype holds them: redrawn until they are."""
        while True:
            values = spread * torch.randn(width, generator=generator, dtype=torch.float64)
            values[:equal] = values[0]
            values = values[torch.randperm(width, generator=generator)]
            values[torch.randperm(width, generator=generator)[:holes]] = -math.inf
            values = (values + offset).to(dtype)
            finite = values[values.isfinite()]
            if finite.max() - finite.min() <= 100 and all(_is_clear(values.double(), epsilon) for epsilon in epsilons):
                return values

    def case(name, rows=4, width=12, dtype=torch.float64, spread=2.0, holes=0, equal=0, offset=0.0, later=(), **given):
        settings = {"epsilon": uniform(0.01, 0.2)} | given
        epsilons = [settings["epsilon"], *(change["epsilon"] for change in later if "epsilon" in change)]
        scores = [row(width, epsilons, dtype, spread, holes, equal, offset * (-1) ** place) for place in range(rows)]
        return {"name": name, "scores": torch.stack(scores), "settings": settings, "later": later}

    for epsilon in (3e-4, 2e-3, 0.02, 0.1, 0.4, 0.95):
        yield case(f"epsilon {epsilon}", epsilon=epsilon)
    yield case("a tiny epsilon", spread=6.0, epsilon=uniform(1e-6, 3e-6))
    for dtype in (torch.float32, torch.float64):
        # Epsilon is the threshold where the entropy is low, and what goes with the entropy where it is high.
        yield case(f"low entropy, {dtype}", spread=6.0, epsilon=uniform(0.002, 0.01), dtype=dtype)
        yield case(f"high entropy, {dtype}", width=60, spread=0.8, epsilon=uniform(0.05, 0.3), dtype=dtype)
        yield case(f"rows of both kinds, {dtype}", rows=8, spread=3.0, epsilon=uniform(0.01, 0.04), dtype=dtype)
        yield case(f"one token is nearly sure, {dtype}", spread=14.0, dtype=dtype)
        yield case(f"tokens of probability 0, {dtype}", holes=4, dtype=dtype)
        yield case(f"least number of tokens, {dtype}", epsilon=0.9, min_tokens_to_keep=integer(3, 7), dtype=dtype)
        yield case(f"rare tokens, {dtype}", spread=13.0, min_tokens_to_keep=8, dtype=dtype)
        yield case(f"filled with a number, {dtype}", filter_value=-uniform(1, 50), dtype=dtype)
    yield case("800 tokens", rows=2, width=800, spread=3.0, epsilon=9e-4, dtype=torch.float32)
    yield case("nearly even", spread=0.3, epsilon=0.5)
    yield case("one row", rows=1)
    yield case("two tokens", rows=6, width=2, spread=1.0, epsilon=0.4)
    yield case("one token", rows=3, width=1)
    yield case("all but one of probability 0", width=6, holes=5)
    yield case("all tokens by the least number", epsilon=0.9, min_tokens_to_keep=12)
    yield case("fewer tokens than the least number", epsilon=0.9, min_tokens_to_keep=40)
    yield case("filled with 0", epsilon=0.4, filter_value=0.0)
    for number in range(12):
        dtype = (torch.float32, torch.float64)[number % 2]
        options = {"holes": integer(0, 5), "min_tokens_to_keep": integer(1, 6), "epsilon": 10 ** uniform(-3, -0.1)}
        options |= {"spread": uniform(0.5, 4), "rows": integer(1, 5), "filter_value": -uniform(1, 50)}
        yield case(f"drawn {number}", dtype=dtype, **options)
    yield {"name": "experiment", "seed": seed % 1000}

    for dtype in (torch.float32, torch.float64):
        for equal in (3, 12):
            name = f"{equal} tokens alike, {dtype}"
            yield case(name, equal=equal, epsilon=0.9, min_tokens_to_keep=2, dtype=dtype) | {"edge": True}
        for offset in (900.0, -900.0):
            yield case(f"rows around {offset} in turn, {dtype}", offset=offset, dtype=dtype) | {"edge": True}
    # The highest scores are alike, or all but the highest.
    order = torch.randperm(6, generator=generator)
    for values in ([3, 3, 1, 0.5, 0, -2.0], [3, 1, 1, 1, 0, -2.0]):
        settings = {"epsilon": 0.9, "min_tokens_to_keep": integer(2, 3), "filter_value": -uniform(3, 9)}
        scores = torch.tensor([values])[:, order]
        yield {"name": f"tokens alike: {values}", "scores": scores, "settings": settings, "later": (), "edge": True}
    least = {"min_tokens_to_keep": 4}
    later = ({"epsilon": 0.3}, {"epsilon": 0.9} | least, {"filter_value": -1.0, "epsilon": 2e-3} | least)
    yield case("settings that change", later=later) | {"edge": True}
    for value in (-math.inf, 3.25):
        yield case(f"gradients, filled with {value}", filter_value=value) | {"gradients": True, "edge": True}


def _is_clear(values, epsilon):
    """Whether no correct version can decide otherwise by rounding."""
    probabilities = values.softmax(-1)
    entropy = torch.special.entr(probabilities).sum()
    threshold = min(epsilon, epsilon**0.5 * math.exp(-entropy))
    return bool(((probabilities - threshold).abs() > CLEAR * threshold).all())


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    from transformers.generation.logits_process import EtaLogitsWarper

    scores = case["scores"].clone().requires_grad_(case.get("gradients", False))
    warper = EtaLogitsWarper(**case["settings"])
    results = []
    ids = torch.ones(len(scores), 3, dtype=torch.long)
    for place, settings in enumerate(({}, *case["later"])):
        for name, value in settings.items():
            setattr(warper, name, torch.tensor(value) if name == "epsilon" else value)
        # Only differences of scores matter.
        results.append(warper(ids, scores + place))
    observation = {"results": results, "without ids": warper(None, scores), "epsilon": warper.epsilon.item()}
    observation["settings"] = [warper.filter_value, warper.min_tokens_to_keep, bool((ids == 1).all())]
    if case.get("gradients"):
        weights = torch.linspace(1, 2, scores.numel(), dtype=scores.dtype).reshape(scores.shape)
        observation["gradients"] = torch.autograd.grad(results[0], scores, weights)[0]
    return observation | {"unchanged": torch.equal(scores, case["scores"])}
