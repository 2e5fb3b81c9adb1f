"""How far self-play and further fine-tuning narrow the gap to the data that a short supervised fine-tuning leaves.

Self-play narrows it in every iteration, and further than as many updates against the first opponent. Continued
supervised fine-tuning with as many updates narrows it further still: see README.md.
"""

import copy
import json

import torch
from torch import Generator, Tensor

from spin.alignment.configs import SFTConfig, SPINConfig
from spin.alignment.data import Example, all_prompts, all_responses, collate, data_distribution, demonstrations
from spin.alignment.model import TinyLM, build_model, response_logps
from spin.alignment.trainer import fine_tune
from spin.evaluate import distances
from spin.play import continued_fine_tuning, self_play

SECOND_STAGES = {
    "spin": (self_play, SPINConfig()),
    "hinge": (self_play, SPINConfig(betas=(0.5,), learning_rates=(2e-3,), loss_type="hinge")),
    # As many updates as in three iterations, all against the first opponent.
    "one_iteration": (self_play, SPINConfig(betas=(0.5,), learning_rates=(2e-3,), epochs=8)),
    "continued_sft": (continued_fine_tuning, SPINConfig()),
}


def moments(values: Tensor) -> dict[str, float]:
    """The mean, the mean square, and a mean whose weights grow with the place from -1 to 1."""
    values = values.double().flatten()
    places = torch.linspace(-1, 1, len(values), dtype=torch.float64)
    return {
        "mean": values.mean().item(),
        "square": values.square().mean().item(),
        "by place": (places * values).mean().item(),
    }


def described(examples: list[Example]) -> dict[str, float]:
    """What people say: demonstrations with their labels, and the probabilities of all answers."""
    tokens, labels = collate(examples)
    parts = {"tokens": tokens, "labels": labels, "people": data_distribution()}
    return {f"{name}/{key}": value for name, part in parts.items() for key, value in moments(part).items()}


@torch.no_grad()
def answer_logps(model: TinyLM) -> Tensor:
    """Log-probabilities of the answers that people give, (prompts, responses)."""
    prompts, responses = all_prompts(), all_responses()
    tokens, labels = collate([Example(prompt, response) for prompt in prompts for response in responses])
    return response_logps(model, tokens, labels).view(len(prompts), len(responses))


@torch.no_grad()
def scores(model: TinyLM, examples: list[Example]) -> dict[str, float]:
    """The log-probabilities that a model gives to demonstrations and to all answers, and the size of its weights."""
    tokens, labels = collate(examples)
    parts = {"demonstrated": response_logps(model, tokens, labels), "all answers": answer_logps(model)}
    found = {f"{name}/{key}": value for name, part in parts.items() for key, value in moments(part).items()}
    weights = torch.cat([weight.flatten() for weight in model.parameters()])
    return found | {"weights": weights.norm().item()}


def agreement(model: TinyLM) -> float:
    """The share of prompts to which the model's likeliest answer is that of the people."""
    return (answer_logps(model).argmax(-1) == data_distribution().argmax(-1)).double().mean().item()


def run(seed: int = 0) -> dict[str, dict[str, float]]:
    """Fit a model to demonstrations, then train copies of it; the metrics of each stage."""
    examples = demonstrations(96, Generator().manual_seed(seed))
    start = build_model(seed)
    stages = {"data": described(examples), "initial model": scores(start, examples)}
    fine_tune(start, examples, SFTConfig())
    stages |= {"fine-tuning": scores(start, examples), "second stage": {}, "evaluation": {}}
    stages["evaluation"] |= {f"sft/{key}": value for key, value in distances(start).items()}
    stages["rates"] = {"sft/agreement": agreement(start)}
    for name, (train, args) in SECOND_STAGES.items():
        model = copy.deepcopy(start)
        history = train(model, examples, args, Generator().manual_seed(seed + 2**20))
        for iteration, metrics in enumerate(history):
            # Of the others, what they end with.
            if name == "spin" or iteration == len(history) - 1:
                for key, value in metrics.items():
                    stage = "evaluation" if key in ("kl", "variation", "sensible") else "second stage"
                    stages[stage][f"{name}/{iteration}/{key}"] = value
        stages["rates"][f"{name}/agreement"] = agreement(model)
    return stages


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
