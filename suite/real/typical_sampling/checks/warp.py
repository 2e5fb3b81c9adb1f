"""warp: which tokens are kept, over masses, least numbers, fillings and distributions; then the experiment."""

import math

import torch

CLEAR = 2e-4


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def uniform(low, high):
        return low + (high - low) * torch.rand((), generator=generator, dtype=torch.float64).item()

    def integer(low, high):
        return torch.randint(low, high + 1, (), generator=generator).item()

    def row(width, masses, dtype, spread, holes, equal, offset):
        """Logits whose decisions are all clear, as the dtype holds them: redrawn until they are."""
        while True:
            # A grid has no close neighbours, however many tokens there are.
            if width > 100:
                values = torch.randperm(width, generator=generator).double() * (uniform(0.8, 1.2) * spread / width)
            else:
                values = spread * torch.randn(width, generator=generator, dtype=torch.float64)
            values[:equal] = values[0]
            values = values[torch.randperm(width, generator=generator)]
            values[torch.randperm(width, generator=generator)[:holes]] = -math.inf
            values = (values + offset).to(dtype)
            if _is_clear(values.double(), masses):
                return values

    def case(name, rows=4, width=12, dtype=torch.float64, spread=2.0, holes=0, equal=0, offset=0.0, later=(), **given):
        settings = {"mass": uniform(0.2, 0.9)} | given
        masses = [settings["mass"], *(change["mass"] for change in later if "mass" in change)]
        scores = [row(width, masses, dtype, spread, holes, equal, offset * (-1) ** place) for place in range(rows)]
        scores = torch.stack(scores) if rows else torch.zeros(0, width, dtype=dtype)
        return {"name": name, "scores": scores, "settings": settings, "later": later}

    for mass in (0.05, 0.2, 0.5, 0.9, 0.95, 0.99):
        yield case(f"mass {mass}", mass=mass)
    for dtype in (torch.float32, torch.float64):
        yield case(f"nearly even, {dtype}", spread=0.5, dtype=dtype)
        yield case(f"one token is nearly sure, {dtype}", spread=9.0, dtype=dtype)
        yield case(f"60 tokens, {dtype}", width=60, rows=3, dtype=dtype)
        yield case(f"tokens of probability 0, {dtype}", holes=4, dtype=dtype)
        yield case(f"least number of tokens, {dtype}", mass=0.05, min_tokens_to_keep=integer(3, 7), dtype=dtype)
        yield case(f"rare tokens, {dtype}", spread=13.0, min_tokens_to_keep=8, dtype=dtype)
        yield case(f"filled with a number, {dtype}", filter_value=-uniform(1, 50), dtype=dtype)
    yield case("800 tokens", width=800, rows=2, spread=6.0, dtype=torch.float32)
    yield case("one row", rows=1)
    yield case("two tokens", rows=6, width=2, spread=1.0, mass=0.5)
    yield case("one token", rows=3, width=1)
    yield case("all but one of probability 0", width=6, holes=5)
    yield case("all tokens by the least number", min_tokens_to_keep=12)
    yield case("fewer tokens than the least number", min_tokens_to_keep=40)
    for number in range(12):
        dtype = (torch.float32, torch.float64)[number % 2]
        options = {"holes": integer(0, 5), "min_tokens_to_keep": integer(1, 6)}
        options |= {"spread": uniform(0.5, 4), "rows": integer(1, 5), "filter_value": -uniform(1, 50)}
        yield case(f"drawn {number}", dtype=dtype, **options)
    yield {"name": "experiment", "seed": seed % 1000}

    for dtype in (torch.float32, torch.float64):
        for equal in (3, 12):
            yield case(f"{equal} tokens alike, {dtype}", equal=equal, dtype=dtype) | {"edge": True}
        for offset in (900.0, -900.0):
            yield case(f"rows around {offset} in turn, {dtype}", offset=offset, dtype=dtype) | {"edge": True}
    # The two most typical tokens are alike, and the least number reaches beyond them.
    alike = torch.tensor([1.1, 3, 1.1, -2, 0.4, -1])[torch.randperm(6, generator=generator)]
    settings = {"mass": 0.05, "min_tokens_to_keep": 3}
    yield case("most typical tokens alike", rows=0) | {"scores": alike[None], "settings": settings, "edge": True}
    yield case("no rows", rows=0) | {"edge": True}
    later = ({"mass": 0.3}, {"min_tokens_to_keep": 4}, {"filter_value": -1.0, "mass": 0.75, "min_tokens_to_keep": 1})
    yield case("settings that change", mass=0.9, later=later) | {"edge": True}
    for value in (-math.inf, 3.25):
        yield case(f"gradients, filled with {value}", filter_value=value) | {"gradients": True, "edge": True}


def _is_clear(values, masses):
    """Whether no correct version can decide otherwise by rounding."""
    logps = values.log_softmax(-1)
    probabilities = logps.exp()
    finite = logps.isfinite()
    entropy = -(logps[finite] * probabilities[finite]).sum()
    deviations, order = (logps + entropy).abs()[finite].sort()
    gaps = deviations.diff()
    same = values[finite][order].diff() == 0
    sums = probabilities[finite][order].cumsum(0)
    # Within a group of equals only the sum at its end decides.
    ends = torch.cat((~same, torch.tensor([True])))
    near = [(sums[ends] - mass).abs().min() for mass in masses]
    return (
        bool((gaps[~same] > CLEAR).all())
        and min(near) > CLEAR
        and bool(values[finite].max() - values[finite].min() < 80)
    )


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    from transformers.generation.logits_process import TypicalLogitsWarper

    scores = case["scores"].clone().requires_grad_(case.get("gradients", False))
    warper = TypicalLogitsWarper(**case["settings"])
    results = []
    ids = torch.ones(len(scores), 3, dtype=torch.long)
    for place, settings in enumerate(({}, *case["later"])):
        for name, value in settings.items():
            setattr(warper, name, value)
        # Only differences of scores matter.
        results.append(warper(ids, scores + place))
    observation = {"results": results, "without ids": warper(None, scores)}
    observation["settings"] = [warper.filter_value, warper.min_tokens_to_keep, warper.mass, bool((ids == 1).all())]
    if case.get("gradients"):
        weights = torch.linspace(1, 2, scores.numel(), dtype=scores.dtype).reshape(scores.shape)
        observation["gradients"] = torch.autograd.grad(results[0], scores, weights)[0]
    return observation | {"unchanged": torch.equal(scores, case["scores"])}
