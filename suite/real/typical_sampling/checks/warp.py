"""warp: what is kept of rows of many shapes, masses, least numbers and fillings; gradients; then the experiment."""

import math

import torch

CLEAR = 2e-4


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def row(width, spread, masses, dtype, holes=0, equal=0, offset=0.0):
        """Logits whose decisions are all clear: redrawn until they are."""
        while True:
            values = spread * torch.randn(width, generator=generator, dtype=torch.float64)
            if equal:
                values[:equal] = values[0]
            if holes:
                values[torch.randperm(width, generator=generator)[:holes]] = -math.inf
            # As the dtype holds them: it is their rounded values whose decisions are clear.
            values = (values + offset).to(dtype).double()
            if _is_clear(values, masses):
                return values

    def case(name, shape=(5, 12), spread=2.0, mass=0.6, dtype=torch.float32, later=(), **options):
        drawn = {key: options.pop(key) for key in ("holes", "equal", "offset") if key in options}
        masses = [mass, *(setting["mass"] for setting in later if "mass" in setting)]
        rows = [row(shape[1], spread, masses, dtype, **drawn) for _ in range(shape[0])]
        return {
            "name": name,
            "scores": torch.stack(rows).to(dtype) if rows else torch.zeros(shape, dtype=dtype),
            "settings": {"mass": mass, **options},
            "later": later,
        }

    for mass in (0.05, 0.2, 0.5, 0.9, 0.95, 0.99):
        yield case(f"mass {mass}", mass=mass)
    yield case("double precision", mass=0.7, dtype=torch.float64)
    yield case("nearly even", spread=0.5, mass=0.4)
    yield case("one token is nearly sure", spread=9.0, mass=0.3)
    yield case("far apart", spread=22.0, mass=0.9)
    yield case("many tokens", (3, 60), spread=2.5, mass=0.8)
    yield case("one row", (1, 9), mass=0.5)
    yield case("no rows", (0, 9), mass=0.5)
    yield case("two tokens", (6, 2), spread=1.0, mass=0.5)
    yield case("one token", (3, 1), mass=0.5)
    yield case("tokens of probability 0", holes=4, mass=0.9)
    yield case("all but one of probability 0", (4, 6), holes=5, mass=0.9)
    yield case("large scores", offset=900.0, mass=0.6)
    yield case("scores far below 0", offset=-900.0, mass=0.6)
    for equal in (2, 4):
        yield case(f"{equal} tokens alike", equal=equal, mass=0.5)
    yield case("all tokens alike", equal=12, mass=0.5)
    for least in (2, 5, 12, 40):
        yield case(f"at least {least} tokens", mass=0.05, min_tokens_to_keep=least)
    yield case(
        "at least three tokens, some of probability 0", holes=8, mass=0.05, min_tokens_to_keep=3, filter_value=-7.5
    )
    for value in (-1e4, 0.0, 3.25):
        yield case(f"filled with {value}", mass=0.5, filter_value=value)
    yield case("filled with a number, tokens of probability 0", holes=3, mass=0.8, filter_value=-50.0)
    for name, rows, settings in (
        ("rows far from each other", [[-960, -953, -950, -951], [930, 947, 949, 950.0]], {"mass": 0.6}),
        ("rare tokens far apart", [[0, -1, -60, -52, -45, -41.5]], {"mass": 0.05, "min_tokens_to_keep": 4}),
        # Of the last two, single precision hardly holds exponentials; what is less typical is clear all the same.
        (
            "rare tokens near to each other",
            [[0, -60, -60.0004], [0, -99.002, -99]],
            {"mass": 0.9, "min_tokens_to_keep": 2},
        ),
        ("zeros of either sign", [[-0.0, 0.0, -1.5, -4]], {"mass": 0.9}),
        (
            "lowest scores beside infinite ones",
            [[-999.9, -1000, *[-math.inf] * 6]],
            {"mass": 0.99, "filter_value": -7.5},
        ),
        ("most typical tokens alike", [[1.1, 3, 1.1, -2, 0.4, -1]], {"mass": 0.05, "min_tokens_to_keep": 3}),
    ):
        for dtype in (torch.float32, torch.float64):
            scores = torch.tensor(rows, dtype=dtype)
            yield case(f"{name}, {dtype}", (0, 4), dtype=dtype) | {"scores": scores, "settings": settings}
    large = torch.tensor([[-1.0] * 700 + [-8.0] * 50 + [0.0] * 1100])
    yield case("a large vocabulary", (0, 4)) | {"scores": large, "settings": {"mass": 0.9}}
    yield case("filled in double precision", dtype=torch.float64, mass=0.3, filter_value=-0.1)
    later = ({"mass": 0.3}, {"min_tokens_to_keep": 4}, {"filter_value": -1.0, "mass": 0.75, "min_tokens_to_keep": 1})
    yield case("settings that change", mass=0.9, later=later)
    yield case("laid out by columns", mass=0.6) | {"layout": "columns"}
    yield case("every other token", mass=0.6) | {"layout": "strided"}
    yield {"name": "experiment", "seed": seed % 1000}


def _is_clear(values, masses):
    """Whether no right version can decide otherwise, by rounding, than another."""
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
    return bool((gaps[~same] > CLEAR).all()) and min(near) > CLEAR


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    from transformers.generation.logits_process import TypicalLogitsWarper

    given = case["scores"].clone()
    if case.get("layout") == "columns":
        given = given.T.contiguous().T
    if case.get("layout") == "strided":
        given = torch.stack((given, -given), dim=-1).flatten(-2)[:, ::2]
    scores = given.requires_grad_()
    warper = TypicalLogitsWarper(**case["settings"])
    found = []
    for settings in ({}, *case["later"]):
        for name, value in settings.items():
            setattr(warper, name, value)
        before = dict(vars(warper))
        for input_ids in (None, torch.ones(len(scores), 3, dtype=torch.long)):
            result = warper(input_ids, scores)
            weights = torch.arange(1.0, 1 + result.numel(), dtype=result.dtype).reshape(result.shape)
            finite = torch.where(result.isfinite(), result * weights, 0)
            # Where all is filled with a number nothing may flow.
            slope = torch.autograd.grad(finite.sum(), scores, allow_unused=True)[0]
            found.append([result, slope, vars(warper) == before, result.signbit()])
    unchanged = torch.equal(scores, case["scores"])
    with torch.no_grad():
        # The same tensor with other contents, and without gradients.
        mirrored = warper(None, scores.copy_(scores.flip(-1)))
        # Another batch with the same object, and this one in its rows' reverse order.
        again = [warper(None, 0.5 * scores[:1]).isfinite().any(), warper(None, scores.flip(0))]
        quiet = [mirrored.requires_grad, torch.is_grad_enabled()]
    return {
        "results": found,
        "again": [mirrored, *again],
        "unchanged": unchanged,
        "new": result.data_ptr() != scores.data_ptr(),
        "gradients": quiet,
    }
