"""Answers to questions whose document contradicts what the model has memorised, with and without contrast."""

import json
from collections.abc import Sequence
from itertools import product

import torch
from torch import Generator, Tensor

from cad.data import WORDS, Example, draw_facts, make_examples
from cad.decoding import answer
from cad.evaluation import exact_match
from cad.model import VotingLM
from cad.prompts import build_prompt
from cad.scoring import answer_logits, closed
from cad.tokenizer import WordTokenizer
from cad.training import train

ALPHAS = {"low alpha": 0.0, "middle alpha": 0.5, "high alpha": 1.0}
TEMPERATURES = {"greedy": 0.0, "sampled": 0.7}
TRAINING = {
    "steps": 20,
    "learning_rate": 0.1,
    "reading_weight": 0.015,
}


def moments(values: Tensor) -> dict[str, float]:
    """The mean, the mean square, and a mean whose weights grow with the place."""
    values = values.double().flatten()
    places = torch.linspace(0, 1, len(values), dtype=torch.float64)
    return {
        "mean": values.mean().item(),
        "square": values.square().mean().item(),
        "by place": (places * values).mean().item(),
    }


def described(examples: Sequence[Example], tokenizer: WordTokenizer) -> dict[str, float]:
    """What is in examples: their prompts and answers, token by token."""
    prompts = [build_prompt(tokenizer, item.question, item.document) for item in examples]
    answers = [tokenizer.encode(item.answer) for item in examples]
    metrics = {"prompts/length": sum(map(len, prompts)) / len(prompts)}
    for name, rows in (("prompts", prompts), ("answers", answers)):
        found = moments(torch.tensor([token for row in rows for token in row]))
        metrics |= {f"{name}/{key}": value for key, value in found.items()}
    return metrics


def knowledge(
    model: VotingLM, tokenizer: WordTokenizer, known: Sequence[Example], readings: Sequence[Example]
) -> dict[str, float]:
    """The loss of each token of what is known and read, how sure the model is, and how large its votes are."""
    metrics = {}
    for name, examples, shown in (("known", known, False), ("read", readings, True)):
        answers = [item.answer for item in examples]
        logits = answer_logits(model, tokenizer, examples, shown, answers)
        logps = logits.log_softmax(dim=-1)
        targets = torch.tensor([closed(tokenizer, text) for text in answers])
        losses = -logps.gather(-1, targets.reshape(-1, 1)).reshape(targets.shape).mean(dim=0)
        metrics |= {f"{name}/loss {number}": loss.item() for number, loss in enumerate(losses, 1)}
        entropies = -(logps.exp() * logps).sum(dim=-1)
        metrics |= {f"{name}/entropy": entropies.mean().item(), f"{name}/logits": logits.std().item()}
    with torch.no_grad():
        metrics |= {f"{name}/norm": table.norm().item() for name, table in model.named_parameters()}
    return metrics


def generated(
    model: VotingLM, tokenizer: WordTokenizer, examples: Sequence[Example], predictions: Sequence[str]
) -> dict[str, float]:
    """What was generated, token by token, and what the model thinks of it with and without the documents."""
    tokens = torch.tensor([token for text in predictions for token in closed(tokenizer, text)])
    found = moments(tokens)
    metrics = {f"tokens/{key}": found[key] for key in ("mean", "by place")}
    for key, shown in (("with document", True), ("without", False)):
        logps = answer_logits(model, tokenizer, examples, shown, predictions).log_softmax(dim=-1)
        metrics[f"log-probability {key}"] = logps.gather(-1, tokens.unsqueeze(-1)).mean().item()
    return metrics


def run(seed: int = 0) -> dict[str, dict[str, float]]:
    """The metrics of each stage: of examples, of the model before and after training, and of generated answers.

    Questions are answered with documents that agree with what is known (original) and with swapped ones. The rates
    are exact matches with the name in the document.
    """
    sources = [Generator().manual_seed(seed + number * 2**20) for number in range(5)]
    facts = draw_facts(sources[0])
    tokenizer = WordTokenizer(WORDS)
    known = make_examples(facts, sources[1], swapped=False, copies=1)
    # Some documents that are read in training agree with what is known.
    readings = [*make_examples(facts, sources[2], swapped=True, copies=8), *known]
    held_out = {
        "original": make_examples(facts, sources[3], swapped=False, copies=4),
        "swapped": make_examples(facts, sources[4], swapped=True, copies=4),
    }
    data = {"known": known, "readings": readings, **held_out}
    stages = {
        "data": {
            f"{name}/{key}": value
            for name, examples in data.items()
            for key, value in described(examples, tokenizer).items()
        }
    }
    model = VotingLM(len(tokenizer), tokenizer.pad_id, seed)
    stages["initial model"] = knowledge(model, tokenizer, known, readings)
    train(model, tokenizer, known, readings, **TRAINING)
    stages["training"] = knowledge(model, tokenizer, known, readings)
    stages |= {"decoding": {}, "rates": {}}
    for number, (name, level, way) in enumerate(product(held_out, ALPHAS, TEMPERATURES), len(sources)):
        examples = held_out[name]
        questions, documents, answers = zip(
            *((item.question, item.document, item.answer) for item in examples), strict=True
        )
        options = {"temperature": TEMPERATURES[way], "generator": Generator().manual_seed(seed + number * 2**20)}
        predictions = answer(model, tokenizer, questions, documents, ALPHAS[level], **options)
        found = generated(model, tokenizer, examples, predictions)
        stages["decoding"] |= {f"{name}/{level}/{way}/{key}": value for key, value in found.items()}
        stages["rates"][f"{name}/{level}/{way}"] = exact_match(predictions, answers)
    return stages


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
