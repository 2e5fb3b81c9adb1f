"""Questions whose document contradicts what the model has memorised: does it answer from memory or from the text?"""

import json
from collections.abc import Sequence

import torch
from torch import Generator, Tensor

from cad.data import WORDS, Example, draw_facts, make_examples
from cad.decoding import answer
from cad.evaluation import exact_match
from cad.model import VotingLM
from cad.prompts import build_prompt
from cad.scoring import answer_logits, entropies, mixed, probabilities
from cad.tokenizer import WordTokenizer
from cad.training import train

ALPHAS = (0.0, 0.5, 1.0)
# How much the runs with and without a document weigh in the logits, from regular decoding to a strong adjustment.
MIXTURES = {"regular": (1.0, 0.0), "adjusted": (1.5, -0.5), "strongly adjusted": (2.0, -1.0)}
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
        targets = torch.tensor([[*tokenizer.encode(text), tokenizer.eos_id] for text in answers])
        losses = -logps.gather(-1, targets.unsqueeze(-1)).squeeze(-1).mean(dim=0)
        metrics |= {f"{name}/loss {number}": loss.item() for number, loss in enumerate(losses, 1)}
        metrics |= {f"{name}/entropy": entropies(logps).mean().item(), f"{name}/logits": logits.std().item()}
    with torch.no_grad():
        metrics |= {f"{name}/norm": table.norm().item() for name, table in model.named_parameters()}
    return metrics


def run(seed: int = 0) -> dict[str, dict[str, float]]:
    """The metrics of each stage: of examples, of the model before and after training, and of contrasted runs.

    The contrast is looked at with documents that agree with what is known (original) and with swapped ones. The rates
    are exact matches of answers that are decoded greedily.
    """
    sources = [Generator().manual_seed(seed + number * 2**20) for number in range(5)]
    facts = draw_facts(sources[0])
    tokenizer = WordTokenizer(WORDS)
    known = make_examples(facts, sources[1], swapped=False, copies=1)
    # Some documents that are read in training agree with what is known.
    readings = [*make_examples(facts, sources[2], swapped=True, copies=8), *known]
    held_out = {
        "original": make_examples(facts, sources[3], swapped=False, copies=2),
        "swapped": make_examples(facts, sources[4], swapped=True, copies=2),
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
    for name, examples in held_out.items():
        answers = [item.answer for item in examples]
        texts = {"document": answers}
        if name == "swapped":
            # What is asked for goes round all places, as in `known`.
            texts["memory"] = [item.answer for item in known] * (len(examples) // len(known))
        for kind, wanted in texts.items():
            runs = [answer_logits(model, tokenizer, examples, shown, wanted) for shown in (True, False)]
            for key, weights in MIXTURES.items():
                logps = mixed(*runs, weights)
                chances = probabilities(logps, tokenizer, wanted)
                stages["decoding"][f"{name}/{key}/{kind}"] = chances.mean().item()
                stages["decoding"][f"{name}/{key}/{kind} entropy"] = entropies(logps).mean().item()
        questions, documents = [item.question for item in examples], [item.document for item in examples]
        for alpha in ALPHAS:
            predictions = answer(model, tokenizer, questions, documents, alpha)
            stages["rates"][f"{name}/alpha_{alpha}"] = exact_match(predictions, answers)
    return stages


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
