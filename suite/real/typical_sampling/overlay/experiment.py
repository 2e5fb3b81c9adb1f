"""How informative are the tokens that typical decoding chooses, beside those of plain sampling and of top-p?"""

import json

import torch
from transformers.generation.logits_process import LogitsProcessorList, TopPLogitsWarper, TypicalLogitsWarper

_WORDS, _CHAINS, _STEPS = 40, 48, 30


def _language(generator: torch.Generator) -> torch.Tensor:
    """Logits of the next word for each word, (words, words): some rows are sharp, some flat."""
    sharpness = torch.linspace(0.5, 3.5, _WORDS, dtype=torch.float64)[torch.randperm(_WORDS, generator=generator)]
    return sharpness.unsqueeze(1) * torch.randn(_WORDS, _WORDS, generator=generator, dtype=torch.float64)


def run(seed: int = 0) -> dict[str, float]:
    """Mean deviation of information from entropy, its spread, and the share of likeliest words, by way of sampling."""
    generator = torch.Generator().manual_seed(seed)
    language = _language(generator)
    logps = language.log_softmax(-1)
    entropies = -(logps.exp() * logps).sum(-1)
    ways = {
        "plain": LogitsProcessorList(),
        "top-p 0.9": LogitsProcessorList([TopPLogitsWarper(0.9)]),
        **{f"typical {mass}": LogitsProcessorList([TypicalLogitsWarper(mass)]) for mass in (0.2, 0.9)},
    }
    results = {}
    for name, processors in ways.items():
        draws = torch.Generator().manual_seed(seed + 1)
        words = torch.zeros(_CHAINS, dtype=torch.long)
        deviations, likeliest = [], []
        for _ in range(_STEPS):
            scores = processors(words.unsqueeze(1), language[words])
            following = torch.multinomial(scores.softmax(-1), 1, generator=draws).squeeze(1)
            deviations.append((-logps[words, following] - entropies[words]).abs())
            likeliest.append((following == language[words].argmax(-1)).double())
            words = following
        results[f"{name}/deviation"] = torch.stack(deviations).mean().item()
        results[f"{name}/spread"] = torch.stack(deviations).std().item()
        results[f"{name}/likeliest"] = torch.stack(likeliest).mean().item()
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
