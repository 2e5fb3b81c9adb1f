"""Which texts does a detector take for watermarked, under which bias, and at what cost in likelihood?"""

import json

import torch
from transformers import PretrainedConfig
from transformers.generation.logits_process import WatermarkLogitsProcessor
from transformers.generation.watermarking import WatermarkDetector

_WORDS, _TEXTS, _LENGTH = 60, 4, 20


def _sample(
    language: torch.Tensor, processor: WatermarkLogitsProcessor | None, seed: int
) -> tuple[torch.Tensor, float]:
    """Texts, (texts, length), and the mean log-probability of their words without a watermark."""
    draws = torch.Generator().manual_seed(seed)
    texts = torch.randint(_WORDS, (_TEXTS, 2), generator=draws)
    likelihood = 0.0
    for _ in range(_LENGTH):
        scores = language[texts[:, -1]]
        given = scores if processor is None else processor(texts, scores)
        following = torch.multinomial(given.softmax(-1), 1, generator=draws)
        likelihood += scores.gather(1, following).mean().item() / _LENGTH
        texts = torch.cat([texts, following], dim=1)
    return texts, likelihood


def run(seed: int = 0) -> dict[str, float]:
    """Mean z-scores, shares of texts that are detected, and likelihoods, by scheme and bias."""
    generator = torch.Generator().manual_seed(seed)
    language = 1.5 * torch.randn(_WORDS, _WORDS, generator=generator, dtype=torch.float64)
    language = language.log_softmax(-1)
    config = PretrainedConfig(vocab_size=_WORDS)
    results = {}
    for scheme, width in (("lefthash", 1), ("selfhash", 2)):
        settings = {
            "greenlist_ratio": 0.5,
            "hashing_key": 15485863,
            "seeding_scheme": scheme,
            "context_width": width,
        }
        detector = WatermarkDetector(config, "cpu", {"bias": 0.0, **settings})
        for bias in (None, 2.0, 5.0):
            processor = None
            if bias is not None:
                processor = WatermarkLogitsProcessor(_WORDS, "cpu", bias=bias, **settings)
            texts, likelihood = _sample(language, processor, seed + 1)
            changed = texts.clone()
            changed[:, ::3] = torch.randint(_WORDS, changed[:, ::3].shape, generator=generator)
            name = f"{scheme}/" + ("no watermark" if bias is None else f"bias {bias}")
            for which, text in (("", texts), (", every third word replaced", changed)):
                found = detector(text, return_dict=True)
                results[f"{name}/z{which}"] = float(found.z_score.mean())
                results[f"{name}/detected{which}"] = float(found.prediction.mean())
            results[f"{name}/log-likelihood"] = likelihood
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
