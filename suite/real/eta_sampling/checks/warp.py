"""warp: what is kept of rows of many shapes, thresholds, least numbers and fillings; gradients; then the experiment."""

import math

import torch

CLEAR = 2e-3
# As they are, in single precision, and beside the highest: each of these makes some of the scores equal.
_CLOSE = [[10, 0, 1e-9, -1], [10, 0.3, 0.3 + 1e-12, -1], [10, 1e-30, 0, -1], [0, -90, -90 - 1e-12, -99]]


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def row(width, spread, epsilons, dtype, holes=0, equal=0, offset=0.0):
        """Logits whose decisions are all clear, not too far apart: redrawn until they are."""
        while True:
            values = spread * torch.randn(width, generator=generator, dtype=torch.float64)
            if equal:
                values[:equal] = values[0]
            if holes:
                values[torch.randperm(width, generator=generator)[:holes]] = -math.inf
            # As the dtype holds them: it is their rounded values whose decisions are clear.
            values = (values + offset).to(dtype).double()
            finite = values[values.isfinite()]
            if finite.max() - finite.min() <= 100 and all(_is_clear(values, epsilon) for epsilon in epsilons):
                return values

    def case(
        name,
        shape=(5, 12),
        spread=2.0,
        epsilon=0.05,
        dtype=torch.float32,
        later=(),
        **options,
    ):
        drawn = {key: options.pop(key) for key in ("holes", "equal", "offset") if key in options}
        epsilons = [
            epsilon,
            *(setting["epsilon"] for setting in later if "epsilon" in setting),
        ]
        rows = [row(shape[1], spread, epsilons, dtype, **drawn) for _ in range(shape[0])]
        return {
            "name": name,
            "scores": torch.stack(rows).to(dtype) if rows else torch.zeros(shape, dtype=dtype),
            "settings": {"epsilon": epsilon, **options},
            "later": later,
        }

    for epsilon in (1e-6, 3e-4, 2e-3, 0.02, 0.1, 0.3, 0.7, 0.97):
        yield case(f"epsilon {epsilon}", epsilon=epsilon)
    yield case("double precision", epsilon=0.04, dtype=torch.float64)
    # Epsilon itself is the threshold where the entropy is low, and what goes with the entropy where it is high.
    yield case("low entropy", spread=5.0, epsilon=0.003)
    yield case("high entropy", (5, 40), spread=0.8, epsilon=0.02)
    yield case("high entropy, large epsilon", (5, 40), spread=0.5, epsilon=0.5)
    yield case("rows of both kinds", (8, 12), spread=3.0, epsilon=0.02)
    yield case("nearly even", spread=0.3, epsilon=0.5)
    yield case("one token is nearly sure", spread=9.0, epsilon=0.01)
    yield case("far apart", spread=22.0, epsilon=0.2)
    yield case("many tokens", (3, 400), spread=3.0, epsilon=9e-4)
    yield case("one row", (1, 9))
    yield case("two tokens", (6, 2), spread=1.0, epsilon=0.4)
    yield case("one token", (3, 1), epsilon=0.5)
    yield case("tokens of probability 0", holes=4)
    yield case("all but one of probability 0", (4, 6), holes=5)
    yield case("large scores", offset=900.0)
    yield case("scores far below 0", offset=-900.0)
    for equal in (2, 4):
        yield case(f"{equal} tokens alike", equal=equal)
    yield case("all tokens alike", equal=12, epsilon=0.1)
    yield case("all tokens alike and all below", equal=12, epsilon=0.9)
    for least in (2, 5, 12, 40):
        yield case(f"at least {least} tokens", epsilon=0.9, min_tokens_to_keep=least)
    yield case(
        "at least two tokens, of four alike",
        (4, 12),
        equal=4,
        epsilon=0.9,
        min_tokens_to_keep=2,
    )
    yield case(
        "at least three tokens, some of probability 0",
        holes=8,
        min_tokens_to_keep=3,
        filter_value=-7.5,
    )
    yield case(
        "at least six tokens, most of probability 0",
        holes=8,
        min_tokens_to_keep=6,
        filter_value=-7.5,
    )
    for value in (-1e4, 0.0, 3.25):
        yield case(f"filled with {value}", filter_value=value)
    yield case(
        "filled with a number, tokens of probability 0",
        holes=3,
        epsilon=1e-3,
        filter_value=-50.0,
    )
    for name, rows, settings in (
        ("rows far from each other", [[-960, -953, -950, -951], [930, 947, 949, 950.0]], {"epsilon": 0.2}),
        ("highest tokens alike", [[5, 5, 4, 3, 2], [1, 4, 3, 4, 4.0]], {"min_tokens_to_keep": 3}),
        ("the second and third apart by a rounding", _CLOSE, {"min_tokens_to_keep": 2}),
        ("zeros alike of either sign", [[2, -0.0, 0.0, -9], [2, 0.0, -0.0, -9]], {"min_tokens_to_keep": 2}),
        ("a tiny epsilon", [[0, -14, -15, -16, -40.0], [-99, -83.5, -84.5, -99.5, -68]], {"epsilon": 2e-7}),
        ("the lowest finite filling", [[0, -14, -15, -16.0]], {"filter_value": torch.finfo(torch.float32).min}),
        ("zeros of either sign", [[-0.0, 0.0, -1, -9], [2, -0.0, 0.0, -9]], {"min_tokens_to_keep": 4}),
        ("lowest scores beside infinite ones", [[-999.9, -1000, *[-math.inf] * 6]], {"epsilon": 0.3}),
    ):
        for dtype in (torch.float32, torch.float64):
            scores = torch.tensor(rows, dtype=dtype)
            yield case(f"{name}, {dtype}", (0, 4), dtype=dtype) | {
                "scores": scores,
                "settings": {"epsilon": 0.9, **settings},
            }
    yield case("filled in double precision", dtype=torch.float64, epsilon=0.3, filter_value=-0.1)
    yield case("epsilon changed in place", later=({"epsilon": 0.3}, {"epsilon": 0.002})) | {"in_place": True}
    later = (
        {"epsilon": 0.3},
        {"min_tokens_to_keep": 4},
        {"filter_value": -1.0, "epsilon": 0.002, "min_tokens_to_keep": 1},
    )
    yield case("settings that change", later=later)
    yield case("laid out by columns") | {"layout": "columns"}
    yield case("every other token") | {"layout": "strided"}
    yield {"name": "experiment", "seed": seed % 1000}


def _is_clear(values, epsilon):
    """Whether no right version can decide otherwise, by rounding, than another."""
    probabilities = values.softmax(-1)
    entropy = torch.special.entr(probabilities).sum()
    threshold = min(epsilon, epsilon**0.5 * math.exp(-entropy))
    return bool(((probabilities - threshold).abs() > CLEAR * threshold).all())


def observe(case):
    if "seed" in case:
        from experiment import run

        return {"experiment": run(case["seed"])}
    from transformers.generation.logits_process import EtaLogitsWarper

    given = case["scores"].clone()
    if case.get("layout") == "columns":
        given = given.T.contiguous().T
    if case.get("layout") == "strided":
        given = torch.stack((given, -given), dim=-1).flatten(-2)[:, ::2]
    scores = given.requires_grad_()
    warper = EtaLogitsWarper(**case["settings"])
    found = []
    for settings in ({}, *case["later"]):
        for name, value in settings.items():
            if name == "epsilon" and case.get("in_place"):
                warper.epsilon.fill_(value)
            else:
                setattr(warper, name, torch.tensor(value) if name == "epsilon" else value)
        before = dict(vars(warper))
        for input_ids in (None, torch.ones(len(scores), 3, dtype=torch.long)):
            result = warper(input_ids, scores)
            weights = torch.arange(1.0, 1 + result.numel(), dtype=result.dtype).reshape(result.shape)
            # Where all is filled with a number nothing may flow.
            slope = torch.autograd.grad(result, scores, weights, allow_unused=True)[0]
            found.append([result, slope, vars(warper) == before, result.signbit()])
    # Another batch with the same object, and this one in its rows' reverse order.
    with torch.no_grad():
        plain = scores.detach().clone()
        again = [
            warper(None, plain),
            plain,
            warper(None, 0.5 * scores[:1]).isfinite().any(),
            warper(None, scores.flip(0)),
        ]
    return {
        "results": found,
        "again": again,
        "epsilon": warper.epsilon,
        "unchanged": torch.equal(scores, case["scores"]),
        "new": result.data_ptr() != scores.data_ptr(),
    }
