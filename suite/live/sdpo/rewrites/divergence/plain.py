"""Probabilities, their mixture, and sums of p log p / q."""


def compute_divergence(student_log_probs, teacher_log_probs, alpha):
    student, teacher = student_log_probs.exp(), teacher_log_probs.exp()
    mixture = (1 - alpha) * student + alpha * teacher
    if alpha == 0:
        terms = teacher * (teacher_log_probs - student_log_probs)
    elif alpha == 1:
        terms = student * (student_log_probs - teacher_log_probs)
    else:
        terms = (1 - alpha) * student * (student / mixture).log() + alpha * teacher * (teacher / mixture).log()
    return terms.sum(-1)


def compute_topk_self_distillation_loss(
    student_logits, teacher_logits, *, distillation_topk, distillation_alpha, distillation_add_tail
):
    support = student_logits.topk(distillation_topk).indices
    logps = [logits.log_softmax(-1).gather(-1, support) for logits in (student_logits, teacher_logits)]
    if distillation_add_tail:
        logps = [add_tail_bucket(item) for item in logps]
    else:
        logps = [item.log_softmax(-1) for item in logps]
    return compute_divergence(*logps, distillation_alpha)
