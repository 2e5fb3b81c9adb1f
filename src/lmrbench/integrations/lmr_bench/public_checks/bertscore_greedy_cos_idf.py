"""Check greedy_cos_idf of BERTScore on texts of three or more tokens with positive similarities.

lmrbench defines `loaded`, `instance` and `TARGET`. The constants, such as `PARAMETERS`, tell it which parameters and
attributes the check uses; see `lmrbench.integrations.lmr_bench.adapting`.
"""

import torch

PARAMETERS = ("ref_embedding", "ref_masks", "ref_idf", "hyp_embedding", "hyp_masks", "hyp_idf")


def every_case(seed):
    """Yield the cases that are drawn with a seed."""
    generator = torch.Generator().manual_seed(seed)

    def side(batch, length, width, padded, weighted):
        # All similarities are positive, so padding never has the maximum, no matter how it is masked.
        embedding = 0.2 + torch.rand(batch, length, width, generator=generator)
        lengths = torch.randint(3, length + 1, (batch, 1), generator=generator) if padded else torch.tensor([[length]])
        masks = (torch.arange(length) < lengths).expand(batch, length).long()
        idf = 0.5 + torch.rand(batch, length, generator=generator) if weighted else torch.ones(batch, length)
        return [embedding, masks, idf * masks]

    for number, (batch, reference, candidate, width) in enumerate(
        ((1, 5, 5, 8), (3, 6, 4, 12), (4, 3, 9, 6), (2, 12, 7, 16))
    ):
        for padded in (False, True):
            for weighted in (False, True):
                name = f"{batch} pairs {number}" + ", padded" * padded + ", weighted" * weighted
                sides = [side(batch, length, width, padded, weighted) for length in (reference, candidate)]
                yield {"name": name, "sides": sides}


def observe(case):
    """Run the function on a case and return the precision, the recall and the F score."""
    greedy_cos_idf = loaded(*TARGET)
    given = [item.clone() for side in case["sides"] for item in side]
    precision, recall, f_score = greedy_cos_idf(*given)
    return {"precision": precision, "recall": recall, "f": f_score}
