"""A small model that has read facts and misconceptions: which of them does it repeat when layers are contrasted?"""

import json

import torch
from dola.analysis import layer_profiles, layer_shares
from dola.buckets import bucket_layers
from dola.config import ModelConfig, TrainingConfig
from dola.data import draw_facts, split_facts, vocabulary
from dola.evaluation import evaluate_dola, evaluate_greedy
from dola.metrics import MetricsLog
from dola.model import EarlyExitLM
from dola.tokenizer import WordTokenizer
from dola.training import train

_STRONGEST = 0.9
_VALIDATION = 8


def run(seed: int = 0) -> dict[str, float]:
    """Train the model, choose a bucket of candidate layers, and compare ways of decoding on the other facts."""
    generator = torch.Generator().manual_seed(seed)
    tokenizer = WordTokenizer(vocabulary())
    facts = draw_facts(generator, _STRONGEST)
    model = EarlyExitLM(ModelConfig(len(tokenizer), tokenizer.pad_id, seed=seed))
    last = model.config.num_layers
    log = MetricsLog()
    history = train(model, tokenizer, facts, TrainingConfig(), generator)
    log.add("training/first_loss", history[0])
    log.add("training/last_loss", history[-1])
    validation, test = split_facts(facts, generator, _VALIDATION)

    log.add("greedy", evaluate_greedy(model, tokenizer, test, last))
    low, high = bucket_layers(last, 2)
    (even,) = bucket_layers(last, 1, stride=2)
    buckets = {"low": low, "high": high, "even": even}
    chosen = max(buckets, key=lambda name: evaluate_dola(model, tokenizer, validation, buckets[name])[0].factual)
    for name, candidates in buckets.items():
        report, output = evaluate_dola(model, tokenizer, test, candidates)
        log.add(f"dola_{name}", report)
        log.add(f"dola_{name}/premature", layer_shares(output.layer_counts))
        if name == chosen:
            log.add("dola_chosen/factual", report.factual)
    for layer in low + high:
        log.add(f"static_{layer}/factual", evaluate_dola(model, tokenizer, test, (layer,))[0].factual)
    for relative_top in (0.0, 1.0):
        name = f"relative_top_{relative_top:g}"
        log.add(name, evaluate_dola(model, tokenizer, test, buckets[chosen], relative_top)[0])
    for kind, profile in zip(("fact", "easy"), layer_profiles(model, tokenizer, facts), strict=True):
        log.add(kind, profile)
        log.add(f"{kind}/high_layers", profile.from_layer(high[0]))
    return log.as_dict()


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
