"""greedy_cos_idf: precision, recall and F over lengths, signs, weights and dtypes; then the experiment."""

from functools import partial
from itertools import product

import torch


def cases(seed):
    generator = torch.Generator().manual_seed(seed)
    case = partial(_case, generator)

    def lengths(count, low=3, high=8):
        return torch.randint(low, high + 1, (count,), generator=generator).tolist()

    every = product((torch.float64, torch.float32), (False, True), (False, True), (False, True))
    for dtype, ragged, opposed, special in every:
        count = lengths(1, 2, 6)[0]
        sides = [lengths(count), lengths(count)] if ragged else [lengths(1) * count, lengths(1) * count]
        words = [str(dtype).removeprefix("torch.")] + ["of unequal length"] * ragged + ["opposed"] * opposed
        name = ", ".join(words + ["with special tokens"] * special)
        yield case(name, *sides, dtype=dtype, opposed=opposed, special=special, width=lengths(1, 4, 9)[0])
    for dtype in (torch.float64, torch.float32):
        yield case(f"one pair, {dtype}", lengths(1), lengths(1), dtype=dtype)
        yield case(f"one token on one side, {dtype}", [1, *lengths(1), 1], [*lengths(1), 1, 1], dtype=dtype)
        yield case(
            f"long and wide, {dtype}", lengths(2, 25, 40), lengths(2, 25, 40), width=64, dtype=dtype, special=True
        )
        alike = case(f"weights of one, {dtype}", lengths(4), lengths(4), dtype=dtype)
        for side in (2, 5):
            alike["inputs"][side].fill_(1.0)
        yield alike
        # A token that stands in many texts weighs next to nothing, a rare one much.
        unlike = case(f"weights of unlike size, {dtype}", lengths(4), lengths(4), dtype=dtype)
        for side in (2, 5):
            exponents = torch.rand(unlike["inputs"][side].shape, generator=generator, dtype=torch.float64)
            unlike["inputs"][side] = (10 ** (4 * exponents - 2)).to(dtype)
        yield unlike
    yield {"name": "experiment", "seed": seed % 1000, "inputs": None}

    edge = partial(case, edge=True)
    for dtype in (torch.float64, torch.float32):
        infinite = edge(f"nothing finite at padding, {dtype}", [3, *lengths(2), 8], [8, *lengths(2), 3], dtype=dtype)
        scattered = edge(f"padding within rows, {dtype}", *[[9] * 3] * 2, dtype=dtype, opposed=True)
        for side in (0, 3):
            embedding, mask, idf = infinite["inputs"][side : side + 3]
            for number, value in enumerate((torch.nan, torch.inf, -torch.inf)):
                embedding[:, number::3][mask[:, number::3] == 0] = value
                idf[:, number::3][mask[:, number::3] == 0] = value
            absent = torch.rand(3, 9, generator=generator) < 0.5
            absent[:, 4] = False
            scattered["inputs"][side + 1][absent] = 0
            scattered["inputs"][side][absent] = 3.0
        yield infinite
        yield scattered
    for opposed in (False, True):
        name = "boolean masks, opposed" if opposed else "boolean masks"
        yield edge(name, lengths(3), lengths(3), masks=torch.bool, opposed=opposed, special=True)
    for dtype in (torch.float64, torch.float32):
        weightless = edge(f"texts without weight, {dtype}", lengths(4), lengths(4), dtype=dtype)
        for side, row in ((2, 0), (5, 1), (2, 2), (5, 2)):
            # Those of the padding stay.
            weightless["inputs"][side][row] *= weightless["inputs"][side - 1][row] == 0
        yield weightless
    for dtype in (torch.float16, torch.bfloat16):
        half = edge(f"in {dtype}", lengths(3, 25, 40), lengths(3, 25, 40), dtype=dtype, special=True)
        for place in (2, 5):
            # The sums of such weights are in the range of half precision, their products are not.
            half["inputs"][place] *= 20
        yield half


def timed(seed):
    generator = torch.Generator().manual_seed(seed)
    for name in ("sentences of one to 120 tokens", "sentences of like length"):
        low = 1 if "one" in name else 30
        lengths = torch.randint(low, 121 if low == 1 else 41, (2, 64), generator=generator).tolist()
        yield _case(generator, name, *lengths, width=768, dtype=torch.float32)


def _case(
    generator,
    name,
    ref_lengths,
    hyp_lengths,
    width=6,
    dtype=torch.float64,
    masks=torch.long,
    opposed=False,
    special=False,
    edge=False,
):
    def side(lengths, sign):
        length = max(lengths)
        embedding = 0.4 + torch.randn(len(lengths), length, width, generator=generator, dtype=torch.float64)
        if opposed:
            # All similarities are negative.
            embedding = sign * embedding.abs()
        embedding *= 0.3 + 3 * torch.rand(len(lengths), length, 1, generator=generator, dtype=torch.float64)
        present = torch.arange(length) < torch.tensor(lengths).reshape(-1, 1)
        # Padding holds long vectors in the common direction, which would win every match.
        embedding = torch.where(present.unsqueeze(2), embedding, 3.0 - embedding.abs() * 0.01)
        idf = 0.1 + 2 * torch.rand(len(lengths), length, generator=generator, dtype=torch.float64)
        return [embedding, present.to(masks), idf]

    inputs = side(ref_lengths, 1.0) + side(hyp_lengths, -1.0)
    if special:
        # The first token weighs nothing, but is near several tokens of the other side.
        for embedding, other in ((0, 3), (3, 0)):
            inputs[embedding][:, 0] = (1 - 2 * opposed) * inputs[other][:, 1:3].sum(dim=1)
            inputs[embedding + 2][:, 0] = 0
    inputs = [values if place % 3 == 1 else values.to(dtype) for place, values in enumerate(inputs)]
    return {"name": name, "inputs": inputs, "edge": edge}


def observe(case):
    if case["inputs"] is None:
        from experiment import run

        # Rates may jump where rounding decides.
        return {"experiment": {stage: metrics for stage, metrics in run(case["seed"]).items() if stage != "rates"}}
    from bert_score.scoring import greedy_cos_idf

    inputs = [values.clone() for values in case["inputs"]]
    scores = dict(zip(("precision", "recall", "f"), greedy_cos_idf(*inputs), strict=True))
    if inputs[0].dtype.itemsize < 4:
        # There right versions round in different places.
        scores = {name: [str(item.dtype), list(item.shape), item.isfinite()] for name, item in scores.items()}
    return {
        str(inputs[0].dtype).removeprefix("torch."): scores,
        "inputs_unchanged": [
            torch.equal(values.nan_to_num(), given.nan_to_num())
            for values, given in zip(inputs, case["inputs"], strict=True)
        ],
    }
