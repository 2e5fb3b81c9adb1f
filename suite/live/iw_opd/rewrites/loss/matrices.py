"""Prefix sums by a triangular matrix, and log probabilities as a negative cross entropy."""


def _compute_iw_opd_loss(
    self,
    student_logits,
    completion_tokens,
    labels,
    teacher_actual_logprobs,
    rollout_logprobs=None,
    num_items_in_batch=None,
):
    rows, length, words = student_logits.shape
    student = -F.cross_entropy(
        (student_logits / self.temperature).reshape(-1, words), completion_tokens.reshape(-1), reduction="none"
    ).view(rows, length)
    mask = labels != -100
    number = int(mask.sum())
    if bool((mask & ~teacher_actual_logprobs.isfinite()).any()):
        raise ValueError("log probabilities of the teacher are missing")
    zeros = torch.zeros_like(student)
    rollout = student if rollout_logprobs is None else rollout_logprobs
    advantage = torch.where(mask, teacher_actual_logprobs, zeros) - torch.where(mask, rollout, zeros)
    advantage = advantage.detach()
    earlier = torch.ones(length, length, dtype=student.dtype).triu(1)
    share = advantage.abs() @ earlier / advantage.abs().sum(1, keepdim=True).clamp(min=self.iw_opd_epsilon)
    weight = (1 + self.iw_opd_gamma) - self.iw_opd_gamma * share
    loss = -(student * weight * advantage)[mask].sum()
    if number:
        mode = self._metrics["train"] if self.model.training else self._metrics["eval"]
        mode["iw_opd/mean_advantage"].append((weight * advantage).sum().item() / number)
        mode["iw_opd/mean_abs_advantage"].append(advantage.abs().sum().item() / number)
        mode["iw_opd/mean_weight"].append(weight[mask].sum().item() / number)
        mode["iw_opd/min_weight"].append(min(weight[mask].tolist()))
        mode["iw_opd/max_weight"].append(max(weight[mask].tolist()))
    return loss / (max(number, 1) if num_items_in_batch is None else num_items_in_batch)
