"""Loops over completions, each with the tokens that are selected from it."""

import math


def _compute_loss(self, model, inputs):
    words = torch.cat((inputs["prompt_ids"], inputs["completion_ids"]), 1)
    visible = torch.cat((inputs["prompt_mask"], inputs["completion_mask"]), 1)
    usual = {"prompt_ids", "prompt_mask", "completion_ids", "completion_mask", "tool_mask", "advantages"}
    usual |= {"old_per_token_logps", "ref_per_token_logps"}
    rest = {key: value for key, value in inputs.items() if key not in usual}
    logps, entropies, _ = self._get_per_token_logps_and_entropies(
        model, words, visible, inputs["completion_ids"].shape[1], compute_entropy=True, **rest
    )
    mask = inputs["completion_mask"].clone()
    if "tool_mask" in inputs:
        mask *= inputs["tool_mask"]
    in_mean = mask.bool()
    if self.top_entropy_quantile < 1.0:
        in_mean = in_mean & self.get_high_entropy_mask(entropies, mask, 1 - self.top_entropy_quantile)
    old = inputs["old_per_token_logps"] if "old_per_token_logps" in inputs else logps.detach()

    losses, lows, highs, kls = [], [], [], []
    for row, advantage in enumerate(inputs["advantages"]):
        counted = mask[row].bool()
        change = logps[row] - old[row]
        chosen = change[in_mean[row]]
        bounded = chosen.clamp(max=self.epsilon_high) if advantage > 0 else chosen.clamp(min=-self.epsilon_low)
        weight = bounded.mean().exp() if len(bounded) else torch.ones((), dtype=logps.dtype)
        loss = -advantage * weight
        if self.beta:
            gap = (inputs["ref_per_token_logps"][row] - logps[row])[counted]
            kls.append(torch.expm1(gap) - gap)
            if len(gap):
                loss = loss + self.beta * kls[-1].mean()
        losses.append(loss)
        lows.append(((change < -self.epsilon_low) & (advantage < 0))[counted].float())
        highs.append(((change > self.epsilon_high) & (advantage > 0))[counted].float())
    total = torch.stack(losses).mean()
    mode = "eval"
    if self.model.training:
        mode, total = "train", total / self.current_gradient_accumulation_steps

    def note(name, values):
        self._metrics[mode][name].append(values.mean().item() if len(values) else 0.0)

    if self.beta:
        note("kl", torch.cat(kls))
    note("entropy", entropies[mask.bool()])
    note("clip_ratio/low_mean", torch.cat(lows))
    note("clip_ratio/high_mean", torch.cat(highs))
    note("clip_ratio/region_mean", torch.cat(lows) + torch.cat(highs))
    shares = [[part.mean().item() for part in parts if len(part)] for parts in (lows, highs)]
    self._metrics[mode]["clip_ratio/low_min"].append(min(shares[0], default=math.nan))
    self._metrics[mode]["clip_ratio/high_max"].append(max(shares[1], default=math.nan))
    return total
