"""Which value had a key last? Layers without positions learn it on short streams and are asked on longer ones."""

import json

import torch
from layer import Softmax, StickBreaking
from torch import nn

_KEYS, _VALUES, _WIDTH, _LENGTH, _STEPS = 5, 6, 12, 16, 25


def _streams(generator: torch.Generator, count: int, length: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Keys, values, and the value that each token's key had last; -1 where the key is new."""
    keys = torch.randint(_KEYS, (count, length), generator=generator)
    values = torch.randint(_VALUES, (count, length), generator=generator)
    last = torch.full((count, _KEYS), -1)
    answers = []
    for step in range(length):
        here = keys[:, step : step + 1]
        answers.append(last.gather(1, here))
        last = last.scatter(1, here, values[:, step : step + 1])
    return keys, values, torch.cat(answers, dim=1)


class _Model(nn.Module):
    def __init__(self, attention: type[StickBreaking]) -> None:
        super().__init__()
        self.asked, self.held = nn.Embedding(_KEYS, _WIDTH), nn.Embedding(_VALUES, _WIDTH)
        self.attention = attention(_WIDTH, heads=1, groups=2)
        self.answer = nn.Linear(_WIDTH, _VALUES)

    def forward(self, keys, values):
        return self.answer(self.attention(self.asked(keys), self.held(values)))


def _loss(model: _Model, keys: torch.Tensor, values: torch.Tensor, answers: torch.Tensor) -> torch.Tensor:
    return nn.functional.cross_entropy(model(keys, values).flatten(0, 1), answers.flatten(), ignore_index=-1)


def run(seed: int = 0) -> dict[str, float]:
    """Loss at the end, by the kind of attention and the length of the streams, over that of guessing."""
    results = {}
    for name, attention in {"stick-breaking": StickBreaking, "softmax": Softmax}.items():
        generator = torch.Generator().manual_seed(seed)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            # In double precision, so that rounding does not grow over the steps.
            model = _Model(attention).double()
        parameters = list(model.parameters())
        speeds = [torch.zeros_like(parameter) for parameter in parameters]
        squares = [torch.zeros_like(parameter) for parameter in parameters]
        for step in range(1, _STEPS + 1):
            gradients = torch.autograd.grad(_loss(model, *_streams(generator, 12, _LENGTH)), parameters)
            for parameter, speed, square, gradient in zip(parameters, speeds, squares, gradients, strict=True):
                # Adam with its usual constants.
                speed.mul_(0.9).add_(gradient, alpha=0.1)
                square.mul_(0.999).addcmul_(gradient, gradient, value=0.001)
                scale = (square / (1 - 0.999**step)).sqrt() + 1e-8
                parameter.data.sub_(0.05 / (1 - 0.9**step) * speed / scale)
        guess = torch.tensor(float(_VALUES)).log().item()
        for times in (1, 4):
            with torch.no_grad():
                loss = _loss(model, *_streams(generator, 12, times * _LENGTH))
            results[f"{name}/{times * _LENGTH} tokens"] = loss.item() / guess
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
