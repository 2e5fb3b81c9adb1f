"""Masks over the whole vocabulary instead of gathered words, and logaddexp for the mixture."""

import math


def _divergence(student, teacher, alpha, kept=None):
    if alpha in (0, 1):
        first, second = (teacher, student) if alpha == 0 else (student, teacher)
        terms = first.exp() * (first - second)
    else:
        mixture = torch.logaddexp(student + math.log1p(-alpha), teacher + math.log(alpha))
        terms = (1 - alpha) * student.exp() * (student - mixture) + alpha * teacher.exp() * (teacher - mixture)
    if kept is not None:
        terms = terms.masked_fill(~kept, 0)
    return terms.sum(dim=-1)


def compute_divergence(student_log_probs, teacher_log_probs, alpha):
    return _divergence(student_log_probs, teacher_log_probs, alpha)


def compute_topk_self_distillation_loss(
    student_logits, teacher_logits, *, distillation_topk, distillation_alpha, distillation_add_tail
):
    ranks = student_logits.argsort(dim=-1, descending=True).argsort(dim=-1)
    kept = ranks < distillation_topk
    if not distillation_add_tail:
        student, teacher = (
            logits - logits.masked_fill(~kept, -math.inf).logsumexp(-1, keepdim=True)
            for logits in (student_logits, teacher_logits)
        )
        # What is left out may lie far away, and must not make anything infinite.
        student, teacher = (item.masked_fill(~kept, 0) for item in (student, teacher))
        return _divergence(student, teacher, distillation_alpha, kept)
    results = []
    for logits in (student_logits, teacher_logits):
        logps = logits.log_softmax(-1)
        tail = logps.masked_fill(kept, -math.inf).logsumexp(-1, keepdim=True)
        tail = tail.clamp(min=math.log(1e-7))
        results.append(torch.cat([logps, tail], dim=-1))
    kept = torch.cat([kept, torch.ones_like(kept[..., :1])], dim=-1)
    return _divergence(*results, distillation_alpha, kept)
