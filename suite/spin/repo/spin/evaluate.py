"""How far a model is from the people: exact, since the data distribution of the toy language is known."""

import torch

from spin.alignment.data import Example, all_prompts, all_responses, collate, data_distribution
from spin.alignment.model import TinyLM, response_logps


@torch.no_grad()
def distances(model: TinyLM) -> dict[str, float]:
    """Means over all prompts.

    Returns:
        kl: the divergence of the model from the data distribution, KL(data || model), in nats.
        variation: half the sum of absolute differences of probabilities; answers that no person gives are included.
        sensible: the probability that the model gives an answer which a person might give.
    """
    prompts, responses, data = all_prompts(), all_responses(), data_distribution()
    tokens, labels = collate([Example(prompt, response) for prompt in prompts for response in responses])
    logps = response_logps(model, tokens, labels).view_as(data)
    sensible = logps.exp().sum(-1)
    variation = ((logps.exp() - data).abs().sum(-1) + (1 - sensible)) / 2
    return {
        "kl": (data * (data.log() - logps)).sum(-1).mean().item(),
        "variation": variation.mean().item(),
        "sensible": sensible.mean().item(),
    }
