"""greedy_cos_idf: precision, recall and F over padding, signs, scales, empty sides and dtypes; then the experiment."""

import torch

HALF = (torch.float16, torch.bfloat16)


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def case(name, ref_lengths, hyp_lengths, width=6, shift=0.4, dtype=torch.float64, masks=torch.long, opposed=False):
        def side(lengths, sign):
            length = max(lengths, default=3)
            # Padding holds long vectors in the common direction, which would win every match.
            embedding = sign * shift + torch.randn(len(lengths), length, width, generator=generator, dtype=dtype)
            if opposed:
                embedding = sign * embedding.abs()
            present = torch.arange(length) < torch.tensor(lengths, dtype=torch.long).reshape(-1, 1)
            embedding = torch.where(present.unsqueeze(2), embedding, 3.0 - embedding.abs() * 0.01)
            idf = 0.1 + 2 * torch.rand(len(lengths), length, generator=generator, dtype=dtype)
            return [embedding, present.to(masks), idf]

        return {"name": name, "inputs": side(ref_lengths, 1.0) + side(hyp_lengths, -1.0 if opposed else 1.0)}

    yield case("one pair", (4,), (6,))
    yield case("one token each", (1,), (1,))
    yield case("equal lengths", (5,) * 4, (5,) * 4)
    yield case("many pairs of unequal length", (7, 3, 5, 1, 6, 2), (2, 8, 5, 4, 1, 3))
    yield case("in single precision", (4, 6, 2), (5, 3, 3), width=9, dtype=torch.float32)
    yield case("floating masks", (4, 6, 2), (5, 3, 3), masks=torch.float32)
    yield case("boolean masks", (4, 6, 2), (5, 3, 3), masks=torch.bool, dtype=torch.float32)
    yield case("all similarities negative", (4, 2, 3), (3, 5, 1), opposed=True)
    yield case("some sides empty", (0, 4, 3, 0), (3, 0, 5, 0))
    yield case("no pairs", (), ())
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
        weightless["inputs"][side][row] = 0
    weightless["inputs"][5][0, 1:] = 0
    yield weightless
    zeros = case("embeddings of nought", (4, 3), (3, 5), shift=-0.2)
    zeros["inputs"][0][0, 1] = 0
    zeros["inputs"][3][1, :2] = 0
    yield zeros
    tiny = case("tiny embeddings and weights", (4, 6, 1), (5, 3, 2), dtype=torch.float32)
    for place, scale in ((0, 1e-7), (2, 1e-10), (3, 1e-7), (5, 1e-10)):
        tiny["inputs"][place] *= scale
    yield tiny
    yield case("long and wide", (40, 25), (33, 40), width=64, dtype=torch.float32)
    yield case("half precision", (5, 2, 0), (3, 4, 2), dtype=torch.float16)
    mixed = case("half precision, weights in single precision", (5, 2), (3, 4), dtype=torch.bfloat16)
    for place in (2, 5):
        mixed["inputs"][place] = mixed["inputs"][place].float()
    yield mixed
    yield {"name": "experiment", "seed": seed % 1000, "inputs": None}


def observe(case):
    if case["inputs"] is None:
        from experiment import run

        return {"experiment": run(case["seed"])}
    from bert_score.scoring import greedy_cos_idf

    inputs = [values.clone() for values in case["inputs"]]
    scores = dict(zip(("precision", "recall", "f"), greedy_cos_idf(*inputs), strict=True))
    dtype = inputs[0].dtype
    if dtype in HALF:
        # Right versions differ in the order of their roundings.
        scores = {name: [str(x.dtype), list(x.shape), bool(x.isfinite().all())] for name, x in scores.items()}
    return {
        "in_double" if dtype == torch.float64 else "scores": scores,
        "inputs_unchanged": [
            torch.equal(values.nan_to_num(), given.nan_to_num())
            for values, given in zip(inputs, case["inputs"], strict=True)
        ],
    }
