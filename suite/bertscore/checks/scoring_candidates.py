"""The metric from text to correlation: pieces, weights, batches, matching, scores. In double precision."""

from contextlib import contextmanager

import torch

KNOWN = ["the", "cold", "cold weather", "weather", "weathers", "win", "window", "dow", "in", "a", "quick", "garden"]
TEXTS = [
    "",
    "The COLD  weather",
    "windows windowed\twin",
    "inquicka",
    " doweathers the\n",
    "x",
    "gardening in the cold",
]


def cases(seed):
    generator = torch.Generator().manual_seed(seed)

    def draw(limit):
        return int(torch.randint(limit, (), generator=generator))

    def sentence(words, most):
        return " ".join(words[draw(len(words))] for _ in range(1 + draw(most)))

    def normal(*shape):
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    def matching(name, ref_lengths, hyp_lengths, shift=0.4, edge=False):
        inputs = []
        for lengths, sign in ((ref_lengths, 1.0), (hyp_lengths, 1.0 if shift < 2 else -1.0)):
            # Padding holds vectors in the common direction, which would win every match.
            embedding = sign * shift + normal(len(lengths), max(lengths), 5)
            embedding *= 0.1 + 5 * torch.rand(*embedding.shape[:2], 1, generator=generator, dtype=torch.float64)
            present = torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(1)
            embedding = torch.where(present.unsqueeze(2), embedding, 3.0)
            idf = 0.1 + 2 * torch.rand(*present.shape, generator=generator, dtype=torch.float64)
            inputs += [embedding, present.long(), idf]
        return {"name": f"matching, {name}", "matching": inputs, "edge": edge}

    parts = [*KNOWN, "Garden", "s", "xy"]
    drawn = [" ".join("".join(parts[draw(len(parts))] for _ in range(1 + draw(3))) for _ in range(4)) for _ in range(3)]
    yield {"name": "pieces", "texts": [*TEXTS, *drawn]}
    pieces = ["[CLS]", "[SEP]", "a", "b", "##a", "##b", "c"]
    for count in (1, 6):
        references = [["[CLS]", *(pieces[2 + draw(4)] for _ in range(1 + draw(6))), "[SEP]"] for _ in range(count)]
        yield {"name": f"weights of {count} references", "references": references, "pieces": pieces}
    yield {"name": "batch", "sentences": [pieces[: 2 + draw(5)] for _ in range(4)], "seed": draw(10**6)}
    yield {"name": "batch of one", "sentences": [pieces[2:5]], "seed": draw(10**6)}
    yield matching("one pair", (4,), (6,))
    yield matching("many pairs of unequal length", (7, 3, 5, 1, 6), (2, 8, 5, 4, 1))
    yield matching("similarities below zero", (4, 2, 3), (3, 5, 1), shift=3.0)
    special = matching("special tokens", (5, 4), (4, 6))
    for embedding, other in ((0, 3), (3, 0)):
        special["matching"][embedding][:, 0] = special["matching"][other][:, 1:3].sum(dim=1)
        special["matching"][embedding + 2][:, 0] = 0
    yield special
    within = matching("padding within rows", (6, 3, 4), (4, 6, 5), edge=True)
    within["matching"] = [values.flip(1) for values in within["matching"]]
    within["matching"][1][0, 2] = 0
    yield within
    infinite = matching("nothing finite at padding", (3, 6, 4), (7, 2, 4), edge=True)
    for side in (0, 3):
        embedding, mask, idf = infinite["matching"][side : side + 3]
        for number, value in enumerate((torch.nan, torch.inf, -torch.inf)):
            embedding[:, number::3][mask[:, number::3] == 0] = value
            idf[:, number::3][mask[:, number::3] == 0] = value
    yield infinite
    weightless = matching("weights of nought", (5, 4, 3), (4, 4, 6), edge=True)
    for side, row in ((2, 0), (5, 1), (2, 2), (5, 2)):
        weightless["matching"][side][row] = 0
    weightless["matching"][5][0, 1:] = 0
    yield weightless
    words = [word for word in [*KNOWN, "Colder", "gardens", "unheard", "inwin"] if word not in ("the", "a", "quick")]
    for importance, baseline in ((None, None), (True, 0.4), (False, 0.3)):
        # Each text has a word of some weight: a reference one of its own, a candidate one that no reference holds.
        texts = [[f"{sentence([*words, 'the', 'a'], 6)} quick" for _ in range(5)]]
        texts.append([f"{own} {sentence(words, 5)}" for own in ("bib", "fuf", "kok", "pup", "zez")])
        options = {} if importance is None else {"importance": importance, "baseline": baseline}
        # The same words in every reference weigh least.
        texts[1] = [f"the {text} a" for text in texts[1]]
        yield {"name": f"scores, {options}", "scored": texts, "options": options, "seed": draw(10**6)}
    for ties in (False, True):
        scores, judgements = normal(9), torch.randint(-3, 1, (9,), generator=generator).double()
        judgements[:2] = torch.tensor([-4.0, 0.0])
        if ties:
            # They rise with the judgements, so that the correlation is not 0, and some tie in any case.
            scores = (3 * judgements + scores).round() / 4
            scores[:2] = scores[:2].mean()
        yield {"name": f"correlation, ties {ties}", "scores": scores, "judgements": judgements}


@contextmanager
def double_precision():
    threads, dtype = torch.get_num_threads(), torch.get_default_dtype()
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        torch.set_default_dtype(dtype)


def observe(case):
    with double_precision():
        if "texts" in case:
            from bert_score.tokenizer import WordPieceTokenizer

            return {"pieces": [list(WordPieceTokenizer(KNOWN).tokenize(text)) for text in case["texts"]]}
        if "pieces" in case:
            return weights(case)
        if "sentences" in case:
            return batch(case)
        if "matching" in case:
            return matched(case)
        if "scored" in case:
            return scored(case)
        from bert_score.correlation import kendall_tau

        return {"tau": float(kendall_tau(case["scores"], case["judgements"]))}


def weights(case):
    from bert_score.idf import IdfWeights, uniform

    given = [list(pieces) for pieces in case["references"]]
    weight = IdfWeights(given)
    found = [float(weight(piece)) for piece in case["pieces"]]
    again = [float(weight(piece)) for piece in ("never", *case["pieces"])]
    flat = [float(uniform(piece)) for piece in case["pieces"]]
    return {"idf": found, "again": again, "uniform": flat, "kept": given == case["references"]}


def batch(case):
    from bert_score.batching import collate
    from bert_score.encoder import ContextEncoder

    encoder = ContextEncoder(width=6, buckets=32, seed=case["seed"] % 1000)
    found = collate(case["sentences"], encoder, lambda piece: 0.5 + 0.25 * len(piece))
    present = found.masks.bool()
    # What padding holds means nothing.
    embedding = found.embedding.masked_fill(~present.unsqueeze(2), 0.0)
    return {"embedding": embedding, "masks": present, "idf": found.idf.masked_fill(~present, 0.0)}


def matched(case):
    from bert_score.scoring import greedy_cos_idf

    given = [values.clone() for values in case["matching"]]
    found = greedy_cos_idf(*given)
    kept = all(
        torch.equal(*(item.double().nan_to_num(7.0, 8.0, 9.0) for item in pair))
        for pair in zip(given, case["matching"], strict=True)
    )
    return {"scores": list(found), "kept": kept}


def scored(case):
    from bert_score.encoder import ContextEncoder
    from bert_score.scoring import score
    from bert_score.tokenizer import WordPieceTokenizer

    encoder = ContextEncoder(width=8, buckets=64, seed=case["seed"] % 1000)
    return {"scores": score(*case["scored"], WordPieceTokenizer(KNOWN), encoder, **case["options"])}
