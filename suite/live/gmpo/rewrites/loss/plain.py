"""The weights as powers of products of ratios, with each bound applied by the sign of the advantage."""

import math


def _compute_loss(self, model, inputs):
    ids = torch.cat([inputs["prompt_ids"], inputs["completion_ids"]], dim=1)
    attention = torch.cat([inputs["prompt_mask"], inputs["completion_mask"]], dim=1)
    names = ["pixel_values", "image_grid_thw", "num_images", "pixel_attention_mask", "image_sizes"]
    names += ["token_type_ids", "mm_token_type_ids", "image_position_ids"]
    extras = {name: inputs[name] for name in names if name in inputs}
    length = inputs["completion_ids"].shape[1]
    logps, entropies, _ = self._get_per_token_logps_and_entropies(model, ids, attention, length, True, **extras)
    mask = inputs["completion_mask"] * inputs.get("tool_mask", 1)
    ratio = (logps - inputs.get("old_per_token_logps", logps.detach())).exp()
    advantages = inputs["advantages"]
    good = (advantages > 0)[:, None]
    low, high = math.exp(-self.epsilon_low), math.exp(self.epsilon_high)
    clipped = torch.where(good, ratio.clamp(max=high), ratio.clamp(min=low))
    kept = mask
    if self.top_entropy_quantile < 1:
        kept = mask * self.get_high_entropy_mask(entropies, mask, 1 - self.top_entropy_quantile)
    counts = kept.sum(1).clamp(min=1).to(ratio.dtype)
    weights = torch.where(kept > 0, clipped, 1.0).prod(1) ** (1 / counts)
    loss = -(weights * advantages).mean()
    mode = "train" if self.model.training else "eval"
    metrics = self._metrics[mode]

    def mean(values):
        return ((values * mask).sum() / mask.sum()).item()

    if self.beta:
        gap = inputs["ref_per_token_logps"] - logps
        kl = gap.exp() - gap - 1
        loss = loss + self.beta * ((kl * mask).sum(1) / mask.sum(1).clamp(min=1)).mean()
        metrics["kl"].append(mean(kl))
    metrics["entropy"].append(mean(entropies))
    lows = (ratio < low) & (advantages < 0)[:, None]
    highs = (ratio > high) & good
    metrics["clip_ratio/low_mean"].append(mean(lows))
    metrics["clip_ratio/high_mean"].append(mean(highs))
    metrics["clip_ratio/region_mean"].append(mean(lows | highs))
    metrics["clip_ratio/low_min"].append(nanmin((lows * mask).sum(1) / mask.sum(1)).item())
    metrics["clip_ratio/high_max"].append(nanmax((highs * mask).sum(1) / mask.sum(1)).item())
    return loss / self.current_gradient_accumulation_steps if mode == "train" else loss
