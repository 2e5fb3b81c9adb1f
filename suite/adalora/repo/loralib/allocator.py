"""Which triplets does the budget pay for? Importance scores and the schedule of sections 3.2 and 3.3."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from loralib.adalora import SVDLinear


@dataclass(frozen=True)
class BudgetSchedule:
    """The number of triplets in the whole model, from the initial to the final one (equation 12).

    warm_up, cool_down: steps at the initial budget, and steps at the final one. total: all steps. interval: triplets
    are cut every so many steps, and at every step of the cool-down.
    """

    initial: int
    final: int
    warm_up: int
    cool_down: int
    total: int
    interval: int = 3

    def budget(self, step: int) -> int:
        """The budget at a step, counted from 0."""
        if step < self.warm_up:
            return self.initial
        if step >= self.total - self.cool_down:
            return self.final
        left = 1 - (step - self.warm_up) / (self.total - self.cool_down - self.warm_up)
        return round(self.final + (self.initial - self.final) * left**3)


class RankAllocator:
    """Smooths sensitivities and their uncertainty, and cuts the least important triplets of all layers."""

    def __init__(self, model: nn.Module, schedule: BudgetSchedule, beta_1: float = 0.85, beta_2: float = 0.85) -> None:
        self.layers = [layer for layer in model.modules() if isinstance(layer, SVDLinear) and layer.r > 0]
        self.schedule = schedule
        self.betas = (beta_1, beta_2)
        self.smoothed: dict[Tensor, tuple[Tensor, Tensor]] = {}

    @torch.no_grad()
    def step(self, step: int) -> None:
        """After an optimizer step: score all triplets, and where it is time cut to the budget."""
        scores = [self._triplet_scores(layer) for layer in self.layers]
        cooling = step >= self.schedule.total - self.schedule.cool_down
        if step < self.schedule.warm_up or not (cooling or step % self.schedule.interval == 0):
            return
        kept = torch.topk(torch.cat(scores), self.schedule.budget(step)).indices
        mask = torch.zeros(sum(map(len, scores)), dtype=torch.bool)
        mask[kept] = True
        for layer, keep in zip(self.layers, mask.split([len(item) for item in scores]), strict=True):
            layer.lora_E[~keep] = 0.0

    def _triplet_scores(self, layer: SVDLinear) -> Tensor:
        """Importance of each triplet: its singular value's, and the means of its vectors' (equation 6), (r,)."""
        vectors = self._importance(layer.lora_A).mean(dim=1) + self._importance(layer.lora_B).mean(dim=0)
        return self._importance(layer.lora_E).squeeze(1) + vectors

    def _importance(self, parameter: Tensor) -> Tensor:
        """Smoothed sensitivity times smoothed uncertainty (equations 8 to 11)."""
        sensitivity = (parameter * parameter.grad).abs()
        mean, uncertainty = self.smoothed.get(parameter, (torch.zeros_like(parameter), torch.zeros_like(parameter)))
        mean = self.betas[0] * mean + (1 - self.betas[0]) * sensitivity
        uncertainty = self.betas[1] * uncertainty + (1 - self.betas[1]) * (sensitivity - mean).abs()
        self.smoothed[parameter] = (mean, uncertainty)
        return mean * uncertainty


@torch.no_grad()
def compact(model: nn.Module) -> None:
    """Drop the triplets that were cut from the parameters of all layers, which compute the same afterwards.

    `r` becomes the number of triplets that are left, 0 among them; `ranknum` stays what it was.
    """
    for layer in model.modules():
        if isinstance(layer, SVDLinear) and layer.r > 0:
            keep = layer.lora_E.squeeze(1) != 0
            layer.lora_A = nn.Parameter(layer.lora_A[keep])
            layer.lora_E = nn.Parameter(layer.lora_E[keep])
            layer.lora_B = nn.Parameter(layer.lora_B[:, keep])
            layer.r = int(keep.sum())
