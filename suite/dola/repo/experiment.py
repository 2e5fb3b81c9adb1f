"""What layers, contrasted, do to a small model that has read facts and misconceptions."""

import json
from collections.abc import Sequence

import torch
from dola.analysis import layer_profiles, layer_shares
from dola.buckets import bucket_layers
from dola.config import ModelConfig, TrainingConfig
from dola.data import Fact, draw_facts, sample_sentences, vocabulary
from dola.evaluation import (
    answer_by_contrast,
    answer_greedily,
    choose_by_contrast,
    judge,
    question_ids,
    share_of_right,
)
from dola.metrics import MetricsLog
from dola.model import EarlyExitLM
from dola.tokenizer import WordTokenizer
from dola.training import train
from torch import Generator, Tensor
from torch.nn import functional as F

_MISCONCEPTIONS = 0.3, 0.8
_VALIDATION = 4


def moments(values: Tensor) -> dict[str, float]:
    """The mean, the mean square, and a mean whose weights grow with the place."""
    values = values.double().flatten()
    places = torch.linspace(0, 1, len(values), dtype=torch.float64)
    return {
        "mean": values.mean().item(),
        "square": values.square().mean().item(),
        "by place": (places * values).mean().item(),
    }


def described(facts: Sequence[Fact], tokenizer: WordTokenizer, sentences: Tensor) -> dict[str, dict[str, float]]:
    """What is in the world, and what is read of it."""
    answers = [tokenizer.encode(fact.answer) for fact in facts]
    popular = [tokenizer.encode(fact.popular) for fact in facts]
    return {
        "misconceptions": moments(torch.tensor([fact.misconception for fact in facts])),
        "answers": moments(torch.tensor(answers)),
        "popular": moments(torch.tensor(popular)),
        "sentences": moments(sentences),
    }


def predictions(model: EarlyExitLM, tokenizer: WordTokenizer, facts: Sequence[Fact]) -> dict[str, object]:
    """How well each exit predicts the right sentences, what the last one says of the answers, and the weights."""
    sentences = [[*tokenizer.encode_prompt(fact.sentence(fact.answer)), tokenizer.eos_id] for fact in facts]
    ids = torch.tensor(sentences)
    popular = torch.tensor([tokenizer.encode(fact.popular) for fact in facts])
    start = question_ids(facts, tokenizer).shape[1]
    layers = range(model.config.num_layers + 1)
    with torch.no_grad():
        exits = model(ids[:, :-1], early_exit_layers=layers)
        losses = [F.cross_entropy(exits[layer].transpose(1, 2), ids[:, 1:]).item() for layer in layers]
        answers = exits[model.config.num_layers][:, start - 1].log_softmax(dim=-1)
        both = torch.cat([answers.gather(1, ids[:, start : start + 1]), answers.gather(1, popular)], dim=1)
        weights = torch.cat([weight.flatten() for weight in model.parameters()])
    return {
        "loss": losses,
        "right": both[:, 0].mean().item(),
        "popular": both[:, 1].mean().item(),
        "share": share_of_right(both).mean().item(),
        "weights": moments(weights),
    }


def run(seed: int = 0) -> dict[str, dict[str, float]]:
    """The metrics of each stage: of the world, of the model before and after training, and of ways of decoding."""
    logs = {name: MetricsLog() for name in ("data", "initial model", "training", "evaluation", "rates")}
    tokenizer = WordTokenizer(vocabulary())
    facts = draw_facts(Generator().manual_seed(seed), *_MISCONCEPTIONS)
    read = sample_sentences(facts, tokenizer, Generator().manual_seed(seed + 2**20))
    for name, part in described(facts, tokenizer, read).items():
        logs["data"].add(name, part)

    model = EarlyExitLM(ModelConfig(len(tokenizer), tokenizer.pad_id, seed=seed))
    for name, part in predictions(model, tokenizer, facts).items():
        logs["initial model"].add(name, part)
    history = train(model, tokenizer, facts, TrainingConfig(), Generator().manual_seed(seed + 2**21))
    logs["training"].add("losses", moments(torch.tensor(history)))
    logs["training"].add("second loss", history[1])
    for name, part in predictions(model, tokenizer, facts).items():
        logs["training"].add(name, part)

    # All facts are in the corpus, for memory is what is tested. The first choose a bucket, the others are the test.
    order = torch.randperm(len(facts), generator=Generator().manual_seed(seed + 2**22)).tolist()
    facts = [facts[number] for number in order]
    evaluate(logs["evaluation"], logs["rates"], model, tokenizer, facts)
    return {name: log.as_dict() for name, log in logs.items()}


def evaluate(
    log: MetricsLog, rates: MetricsLog, model: EarlyExitLM, tokenizer: WordTokenizer, facts: Sequence[Fact]
) -> None:
    """Log divergences of layers, the choice between answers, and how answers are that are generated."""
    last = model.config.num_layers
    low, high = bucket_layers(last, 2)
    for kind, profile in zip(("fact", "easy"), layer_profiles(model, tokenizer, facts), strict=True):
        log.add(f"{kind}/divergence", profile.divergence)
        log.add(f"{kind}/high layers", profile.from_layer(high[0]))
        rates.add(f"{kind}/critical", profile.critical)

    validation = {}
    for name, candidates in (("low", low), ("high", high)):
        likelihoods = choose_by_contrast(model, tokenizer, facts, candidates)
        right, popular = likelihoods[_VALIDATION:].exp().mean(dim=0).tolist()
        shares = share_of_right(likelihoods)
        validation[candidates] = shares[:_VALIDATION].mean().item()
        log.add(name, {"right": right, "popular": popular, "share": shares[_VALIDATION:].mean().item()})
    likelihoods = choose_by_contrast(model, tokenizer, facts[_VALIDATION:], high, relative_top=0.0)
    right, popular = likelihoods.mean(dim=0).tolist()
    share = share_of_right(likelihoods).mean().item()
    log.add("unconstrained", {"log right": right, "log popular": popular, "share": share})

    chosen = max(validation, key=validation.__getitem__)
    rates.add("greedy", judge(facts[_VALIDATION:], answer_greedily(model, tokenizer, facts, last)[_VALIDATION:]))
    answers, output = answer_by_contrast(model, tokenizer, facts, chosen)
    rates.add("chosen", judge(facts[_VALIDATION:], answers[_VALIDATION:]))
    rates.add("chosen/premature", layer_shares(output.layer_counts))


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
