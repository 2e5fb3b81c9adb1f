"""Divergences by torch.distributions or as cross entropy less entropy, one position after the other."""


def compute_divergence(student_log_probs, teacher_log_probs, alpha):
    words = student_log_probs.shape[-1]
    results = [
        _one(student, teacher, float(alpha))
        for student, teacher in zip(student_log_probs.reshape(-1, words), teacher_log_probs.reshape(-1, words))
    ]
    if not results:
        return (student_log_probs + teacher_log_probs).sum(-1)
    return torch.stack(results).reshape(student_log_probs.shape[:-1])


def _one(student, teacher, alpha):
    def cross(first, second):
        return -(first.exp() @ second)

    if alpha == 0.0:
        return cross(teacher, student) - cross(teacher, teacher)
    if alpha == 1.0:
        return cross(student, teacher) - cross(student, student)
    mixture = torch.stack([student, teacher])
    weights = torch.tensor([1 - alpha, alpha], dtype=student.dtype)
    mixture = (mixture + weights.log().unsqueeze(1)).logsumexp(0)
    both = (1 - alpha) * student.exp() + alpha * teacher.exp()
    # The entropy of the mixture less the mean of both entropies.
    own = (1 - alpha) * cross(student, student) + alpha * cross(teacher, teacher)
    return -(both @ mixture) - own


def compute_topk_self_distillation_loss(
    student_logits, teacher_logits, *, distillation_topk, distillation_alpha, distillation_add_tail
):
    support = student_logits.detach().argsort(-1, descending=True)[..., :distillation_topk]
    if not distillation_add_tail:
        chosen = [F.log_softmax(logits.gather(-1, support), dim=-1) for logits in (student_logits, teacher_logits)]
        return compute_divergence(*chosen, distillation_alpha)
    chosen = [F.log_softmax(logits, dim=-1).gather(-1, support) for logits in (student_logits, teacher_logits)]
    return compute_divergence(*map(add_tail_bucket, chosen), distillation_alpha)
