"""Weights from what is left of the discrepancy after a prefix, as sums from the end."""


def _compute_iw_opd_loss(
    self,
    student_logits,
    completion_tokens,
    labels,
    teacher_actual_logprobs,
    rollout_logprobs=None,
    num_items_in_batch=None,
):
    counted = labels.ne(-100)
    if not teacher_actual_logprobs[counted].isfinite().all():
        raise ValueError("The teacher gave no log probability for a token that counts.")
    scaled = student_logits / self.temperature
    picked = scaled.gather(2, completion_tokens[..., None])[..., 0] - scaled.logsumexp(2)
    with torch.no_grad():
        old = picked if rollout_logprobs is None else rollout_logprobs
        plain = (teacher_actual_logprobs - old).masked_fill(~counted, 0)
        sizes = plain.abs()
        total = sizes.sum(1, keepdim=True)
        # Own and later tokens, and what epsilon adds to the total.
        left = sizes.flip(1).cumsum(1).flip(1) + (self.iw_opd_epsilon - total).clamp(min=0)
        weights = 1 + self.iw_opd_gamma * left / total.clamp(min=self.iw_opd_epsilon)
        weighted = weights * plain
        if counted.any():
            numbers = {
                "mean_advantage": weighted[counted].mean(),
                "mean_abs_advantage": sizes[counted].mean(),
                "mean_weight": weights[counted].mean(),
                "min_weight": weights[counted].amin(),
                "max_weight": weights[counted].amax(),
            }
            metrics = self._metrics["train" if self.model.training else "eval"]
            for name, number in numbers.items():
                metrics[f"iw_opd/{name}"].append(float(number))
    total = -(weighted * picked).sum()
    if num_items_in_batch is None:
        num_items_in_batch = max(int(counted.sum()), 1)
    return total / num_items_in_batch
