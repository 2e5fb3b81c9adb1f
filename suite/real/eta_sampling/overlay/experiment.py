"""A language is smoothed: which truncation keeps out words that it never has, and which loses words that it has?"""

import json

import torch
from transformers.generation.logits_process import EtaLogitsWarper, LogitsProcessorList, TopPLogitsWarper

_WORDS, _CHAINS, _STEPS = 40, 64, 8


def _language(generator: torch.Generator) -> torch.Tensor:
    """Probabilities of the next word for each word, (words, words): each word is followed by few or by many others."""
    logits = 1.5 * torch.randn(_WORDS, _WORDS, generator=generator, dtype=torch.float64)
    followers = torch.logspace(0, 1.6, _WORDS, dtype=torch.float64).long()
    followers = followers[torch.randperm(_WORDS, generator=generator)]
    ranks = torch.rand(_WORDS, _WORDS, generator=generator, dtype=torch.float64).argsort(-1)
    return logits.masked_fill(ranks >= followers.unsqueeze(-1), -torch.inf).softmax(-1)


def run(seed: int = 0) -> dict[str, float]:
    """Shares of sampled words that the language never has there, and of the language that is lost, by truncation."""
    generator = torch.Generator().manual_seed(seed)
    language = _language(generator)
    # The paper's account of a language model: the language, mixed with a smoothing distribution.
    smoothed = (0.9 * language + 0.1 / _WORDS).log()
    ways = {
        "none": LogitsProcessorList(),
        "top-p 0.95": LogitsProcessorList([TopPLogitsWarper(0.95)]),
        **{f"eta {epsilon}": LogitsProcessorList([EtaLogitsWarper(epsilon)]) for epsilon in (0.002, 0.01, 0.1)},
    }
    results = {}
    for name, processors in ways.items():
        draws = torch.Generator().manual_seed(seed + 1)
        words = torch.zeros(_CHAINS, dtype=torch.long)
        foreign, lost = [], []
        for _ in range(_STEPS):
            scores = processors(words.unsqueeze(1), smoothed[words])
            following = torch.multinomial(scores.softmax(-1), 1, generator=draws).squeeze(1)
            foreign.append((language[words, following] == 0).double())
            lost.append((language[words] * scores.isinf()).sum(-1))
            words = following
        results[f"{name}/foreign words"] = torch.stack(foreign).mean().item()
        results[f"{name}/lost"] = torch.stack(lost).mean().item()
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
