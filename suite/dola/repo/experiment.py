"""A small model that has read facts and misconceptions: which of them does it repeat when layers are contrasted?"""

import json
from collections.abc import Sequence

import torch
from dola.analysis import layer_profiles, layer_shares
from dola.buckets import bucket_layers
from dola.config import ModelConfig, TrainingConfig
from dola.data import draw_facts, vocabulary
from dola.evaluation import Report, answer_by_contrast, answer_greedily, judge
from dola.metrics import MetricsLog
from dola.model import EarlyExitLM
from dola.tokenizer import WordTokenizer
from dola.training import train

_MISCONCEPTIONS = 0.3, 0.8
_VALIDATION = 4


def run(seed: int = 0) -> dict[str, float]:
    """Train the model, choose a bucket of candidate layers, and compare ways of decoding on the other facts."""
    generator = torch.Generator().manual_seed(seed)
    tokenizer = WordTokenizer(vocabulary())
    facts = draw_facts(generator, *_MISCONCEPTIONS)
    model = EarlyExitLM(ModelConfig(len(tokenizer), tokenizer.pad_id, seed=seed))
    last = model.config.num_layers
    log = MetricsLog()
    history = train(model, tokenizer, facts, TrainingConfig(), generator)
    log.add("training/first_loss", history[0])
    log.add("training/last_loss", history[-1])
    # All facts are in the corpus, for memory is what is tested. The first choose a bucket, the others are the test.
    order = torch.randperm(len(facts), generator=generator).tolist()
    facts = [facts[number] for number in order]

    def report(answers: Sequence[str]) -> Report:
        return judge(facts[_VALIDATION:], answers[_VALIDATION:])

    log.add("greedy", report(answer_greedily(model, tokenizer, facts, last)))
    low, high = bucket_layers(last, 2)
    (even,) = bucket_layers(last, 1, stride=2)
    buckets = {"low": low, "high": high, "even": even}
    found = {name: answer_by_contrast(model, tokenizer, facts, buckets[name]) for name in buckets}
    for name, (answers, output) in found.items():
        log.add(f"dola_{name}", report(answers))
        log.add(f"dola_{name}/premature", layer_shares(output.layer_counts))
    chosen = max(found, key=lambda name: judge(facts[:_VALIDATION], found[name][0][:_VALIDATION]).factual)
    log.add("dola_chosen/factual", report(found[chosen][0]).factual)
    for relative_top in (0.0, 1.0):
        answers, _ = answer_by_contrast(model, tokenizer, facts, buckets[chosen], relative_top)
        log.add(f"relative_top_{relative_top:g}", report(answers))
    for kind, profile in zip(("fact", "easy"), layer_profiles(model, tokenizer, facts), strict=True):
        log.add(kind, profile)
        log.add(f"{kind}/high_layers", profile.from_layer(high[0]))
    return log.as_dict()


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
