"""greedy_cos_idf: precision, recall and F over padding, signs, scales, angles, empty sides, dtypes; the experiment."""

from functools import partial

import torch

# The shortest and the longest embedding, and the least and the greatest weight.
ENDS = (1.01e-6, 0.99e6)


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    case = partial(_case, generator)
    yield case("one pair", (4,), (6,))
    yield case("one token each", (1,), (1,))
    yield case("a width of one", (3, 1), (2, 4), width=1)
    yield case("equal lengths", (5,) * 4, (5,) * 4)
    yield case("many pairs of unequal length", (7, 3, 5, 1, 6, 2), (2, 8, 5, 4, 1, 3))
    yield case("in single precision", (4, 6, 2), (5, 3, 3), width=9, shift=1.5, dtype=torch.float32)
    yield case("floating masks", (4, 6, 2), (5, 3, 3), masks=torch.float64)
    yield case("boolean masks", (4, 6, 2), (5, 3, 3), masks=torch.bool, shift=1.5, dtype=torch.float32)
    yield case("unsigned masks", (4, 6, 2, 0), (5, 3, 3, 2), masks=torch.uint8)
    yield case("masks of few bits", (4, 6, 2, 0), (5, 3, 3, 2), masks=torch.int8, opposed=True)
    yield case("all similarities negative", (4, 2, 3), (3, 5, 1), opposed=True)
    yield case("some sides empty", (0, 4, 3, 0), (3, 0, 5, 0))
    padded_first = case("padding within rows", (6, 3, 4), (4, 6, 5))
    padded_first["inputs"] = [values.flip(1) for values in padded_first["inputs"]]
    padded_first["inputs"][1][0, 2] = 0
    for side in (0, 3):
        # The same values, laid out in memory as they lie after a transposition.
        padded_first["inputs"][side] = padded_first["inputs"][side].mT.contiguous().mT
    yield padded_first
    infinite = case("nothing finite at padding", (3, 6, 0, 4), (7, 2, 4, 0))
    for side in (0, 3):
        embedding, mask, idf = infinite["inputs"][side : side + 3]
        for number, value in enumerate((torch.nan, torch.inf, -torch.inf)):
            embedding[:, number::3][mask[:, number::3] == 0] = value
            idf[:, number::3][mask[:, number::3] == 0] = value
    yield infinite
    weightless = case("weights of nought", (5, 4, 3), (4, 4, 6))
    for side, row in ((2, 0), (5, 1), (2, 2), (5, 2)):
        # Those of the padding stay.
        weightless["inputs"][side][row] *= weightless["inputs"][side - 1][row] == 0
    weightless["inputs"][5][0, 1:] = 0
    yield weightless
    special = case("the best matches weigh nothing", (4, 5), (4, 5))
    for embedding, other in ((0, 3), (3, 0)):
        special["inputs"][embedding][:, 0] = special["inputs"][other][:, 1:4].sum(dim=1)
        special["inputs"][embedding + 2][:, 0] = 0
    yield special
    zeros = case("embeddings of nought", (4, 3, 2), (3, 5, 2), shift=-0.2)
    zeros["inputs"][0][0, 1] = 0
    zeros["inputs"][3][1, :2] = 0
    # The only similarity that is not negative.
    zeros["inputs"][3][2] = -zeros["inputs"][0][2, :1]
    zeros["inputs"][3][2, 1] = 0
    yield zeros
    for masks in (torch.int64, torch.uint8, torch.int8):
        lengths = (16, 32, 16, 12, 130), (16, 8, 15, 12, 3)
        yield case(f"more tokens than a byte can tell, masks in {masks}", *lengths, masks=masks)
    level = case("nearly at right angles", (1, 2), (1, 1), width=2)
    level["inputs"][0][:] = torch.tensor([2.0, 0.0])
    level["inputs"][3][:] = torch.tensor([[3e-9, 3.0]])
    yield level
    yield case("long and wide", (40, 25), (33, 40), width=64, dtype=torch.float32)

    for dtype in (torch.float64, torch.float32):
        ends = case(f"short and long, light and heavy, {dtype}", (5, 4, 3, 6, 0), (3, 5, 6, 4, 2))
        for side in (0, 3):
            embedding, mask, idf = ends["inputs"][side : side + 3]
            pair, token = torch.meshgrid(*map(torch.arange, idf.shape), indexing="ij")
            lengths = torch.tensor(ENDS, dtype=torch.float64)[(pair + token) % 2]
            embedding *= (lengths / embedding.norm(dim=2)).unsqueeze(2)
            # All of a side are light or heavy, or its first token alone is heavy.
            heavy = (pair + side) % 4 < 2
            heavy[3] = token[3] == 0
            idf *= torch.tensor(ENDS, dtype=torch.float64)[heavy.long()]
            idf /= torch.where(heavy, 2.1, 0.1)
            embedding[0, 1] = 0
            embedding[mask == 0], idf[mask == 0] = torch.nan, torch.inf
            mask = mask if dtype == torch.float32 else mask.to(dtype)
            ends["inputs"][side : side + 3] = embedding.to(dtype), mask, idf.to(dtype)
        yield ends

    for dtype in (torch.float64, torch.float32):
        light = case(f"least weights, {dtype}", (1, 3), (1, 2), dtype=dtype)
        for place in (2, 5):
            light["inputs"][place][:] = 0
            light["inputs"][place][:, 0] = 1.001 * ENDS[0] / 1.01
        yield light

    for dtype in (torch.float16, torch.bfloat16):
        half = case(f"in {dtype}", (5, 4, 0), (3, 5, 2))
        for embedding, idf in ((0, 2), (3, 5)):
            half["inputs"][embedding][half["inputs"][embedding + 1] == 0] = torch.nan
            half["inputs"][idf][half["inputs"][idf - 1] == 0] = torch.inf
        half["inputs"] = [x.to(dtype) if x.is_floating_point() else x for x in half["inputs"]]
        yield half
        heavy = case(f"in {dtype}, heavy", (10, 12), (11, 10), shift=1.5)
        heavy["inputs"] = [x.to(dtype) if x.is_floating_point() else x for x in heavy["inputs"]]
        heavy["inputs"][2][:], heavy["inputs"][5][:] = 100.0, 100.0
        yield heavy
    masked = case("the same embeddings under other masks", (5, 4, 3), (4, 4, 6))
    yield {**masked, "earlier": (masked["inputs"][1].flip(0), masked["inputs"][4].flip(0))}
    yield case("boolean masks, some sides empty", (0, 4, 3, 0), (3, 0, 5, 0), masks=torch.bool)
    yield {**case("the same tensors, with other values before", (5, 4, 3), (4, 4, 6)), "refilled": True}
    yield {"name": "experiment", "seed": seed % 1000, "inputs": None}


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
    shift=0.4,
    dtype=torch.float64,
    masks=torch.long,
    opposed=False,
):
    def side(lengths, sign):
        length = max(lengths)
        # Padding holds long vectors in the common direction, which would win every match.
        embedding = sign * shift + torch.randn(len(lengths), length, width, generator=generator, dtype=dtype)
        if opposed:
            embedding = sign * embedding.abs()
        present = torch.arange(length) < torch.tensor(lengths).reshape(-1, 1)
        embedding = torch.where(present.unsqueeze(2), embedding, 3.0 - embedding.abs() * 0.01)
        idf = 0.1 + 2 * torch.rand(len(lengths), length, generator=generator, dtype=dtype)
        return [embedding, present.to(masks), idf]

    return {"name": name, "inputs": side(ref_lengths, 1.0) + side(hyp_lengths, -1.0 if opposed else 1.0)}


def observe(case):
    if case["inputs"] is None:
        from experiment import run

        return {"experiment": run(case["seed"])}
    from bert_score.scoring import greedy_cos_idf

    inputs = [values.clone() for values in case["inputs"]]
    if "earlier" in case:
        references, candidates = (mask.clone() for mask in case["earlier"])
        greedy_cos_idf(inputs[0], references, inputs[2], inputs[3], candidates, inputs[5])
    if "refilled" in case:
        for values in inputs[0::3] + inputs[2::3]:
            values.copy_(0.3 + values.flip(0).abs())
        greedy_cos_idf(*inputs)
        for values, given in zip(inputs, case["inputs"], strict=True):
            values.copy_(given)
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
