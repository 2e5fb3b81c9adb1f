"""One bound for all tokens by multiplying log ratios with the sign of the advantage, as means with masked entries."""


def _compute_loss(self, model, inputs):
    length = inputs["completion_ids"].shape[-1]
    tokens, attended = (
        torch.hstack([inputs[f"prompt_{kind}"], inputs[f"completion_{kind}"]]) for kind in ("ids", "mask")
    )
    model_inputs = dict.fromkeys(
        (
            "pixel_values",
            "image_grid_thw",
            "num_images",
            "pixel_attention_mask",
            "image_sizes",
            "token_type_ids",
            "mm_token_type_ids",
            "image_position_ids",
        )
    )
    for name in model_inputs:
        model_inputs[name] = inputs.get(name)
    logps, entropies, _ = self._get_per_token_logps_and_entropies(
        model, tokens, attended, length, compute_entropy=True, **model_inputs
    )
    counted = inputs["completion_mask"]
    if inputs.get("tool_mask") is not None:
        counted = counted * inputs["tool_mask"]
    counted = counted.bool()
    old = inputs.get("old_per_token_logps")
    change = logps - (logps.detach() if old is None else old)
    advantages = inputs["advantages"]
    sign = torch.where(advantages > 0, 1.0, -1.0).to(change.dtype)[:, None]
    bound = torch.full_like(sign, self.epsilon_low).masked_fill(sign > 0, self.epsilon_high)
    limited = sign * torch.minimum(sign * change, bound)
    kept = counted
    if self.top_entropy_quantile < 1.0:
        kept = self.get_high_entropy_mask(entropies, counted.long(), 1 - self.top_entropy_quantile)

    def row_means(values, mask):
        return values.masked_fill(~mask, 0).sum(1) / mask.sum(1)

    loss = -advantages * row_means(limited, kept).nan_to_num(nan=0.0).exp()
    metrics = self._metrics["train" if self.model.training else "eval"]

    def all_mean(values):
        chosen = values[counted]
        return chosen.sum().item() / max(chosen.numel(), 1)

    if self.beta != 0.0:
        away = logps - inputs["ref_per_token_logps"]
        estimate = torch.exp(-away) + away - 1
        loss = loss + self.beta * row_means(estimate, counted).nan_to_num(nan=0.0)
        metrics["kl"].append(all_mean(estimate))
    metrics["entropy"].append(all_mean(entropies))
    outside = (sign * change > bound) & (advantages != 0)[:, None]
    parts = {"low": outside & (sign < 0), "high": outside & (sign > 0), "region": outside}
    for name, part in parts.items():
        metrics[f"clip_ratio/{name}_mean"].append(all_mean(part.double()))
    metrics["clip_ratio/low_min"].append(nanmin(row_means(parts["low"].double(), counted)).item())
    metrics["clip_ratio/high_max"].append(nanmax(row_means(parts["high"].double(), counted)).item())
    loss = loss.mean()
    if self.model.training:
        loss = loss / self.current_gradient_accumulation_steps
    return loss
