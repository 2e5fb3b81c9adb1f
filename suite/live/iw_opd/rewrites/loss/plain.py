"""Token by token, for the tokens that count."""


def _compute_iw_opd_loss(
    self,
    student_logits,
    completion_tokens,
    labels,
    teacher_actual_logprobs,
    rollout_logprobs=None,
    num_items_in_batch=None,
):
    logps = (student_logits / self.temperature).log_softmax(-1)
    terms, before, after, weights = [], [], [], []
    for row in range(len(labels)):
        counted = [t for t in range(labels.shape[1]) if labels[row, t] != -100]
        chosen = [logps[row, t, completion_tokens[row, t]] for t in counted]
        old = [p.detach() for p in chosen] if rollout_logprobs is None else [rollout_logprobs[row, t] for t in counted]
        advantages = [(teacher_actual_logprobs[row, t] - p).item() for t, p in zip(counted, old)]
        total = max(sum(map(abs, advantages)), self.iw_opd_epsilon)
        prefix = 0.0
        for p, advantage in zip(chosen, advantages):
            weight = 1 + self.iw_opd_gamma * (1 - prefix / total)
            prefix += abs(advantage)
            terms.append(-weight * advantage * p)
            before.append(abs(advantage))
            after.append(weight * advantage)
            weights.append(weight)
    metrics = self._metrics["train" if self.model.training else "eval"]
    metrics["iw_opd/mean_advantage"].append(sum(after) / len(after))
    metrics["iw_opd/mean_abs_advantage"].append(sum(before) / len(before))
    metrics["iw_opd/mean_weight"].append(sum(weights) / len(weights))
    metrics["iw_opd/min_weight"].append(min(weights))
    metrics["iw_opd/max_weight"].append(max(weights))
    return torch.stack(terms).sum() / (len(terms) if num_items_in_batch is None else num_items_in_batch)
