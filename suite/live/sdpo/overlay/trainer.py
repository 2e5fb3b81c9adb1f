"""A small trainer of SDPO on questions with one-word answers."""

import torch
from torch import nn
from trl.experimental.sdpo.loss_utils import (
    apply_importance_sampling_clipping,
    compute_full_logit_self_distillation_loss,
    compute_sampled_token_self_distillation_loss,
    compute_topk_self_distillation_loss,
)
from trl.trainer.utils import selective_log_softmax


class Policy(nn.Module):
    """Logits of words by the question, and by the feedback if there is any.

    The model can use feedback in its context from the start: it becomes more likely to say the words of the feedback.
    """

    def __init__(self, questions, words, generator=None):
        super().__init__()
        self.table = nn.Parameter(torch.randn(questions, words, generator=generator))

    def forward(self, questions, feedback=None):
        logits = self.table[questions]
        return logits if feedback is None else logits + 3.0 * nn.functional.one_hot(feedback, logits.shape[-1])


class Trainer:
    """Distils what the policy would say with feedback into the policy without it.

    `mode` is "topk_logits", "full_logits" or "sampled_token".
    """

    def __init__(self, policy, mode, topk=2, alpha=1.0, add_tail=False, clip=2.0, rate=8.0):
        self.policy, self.mode, self.topk, self.alpha = policy, mode, topk, alpha
        self.add_tail, self.clip, self.rate = add_tail, clip, rate

    def loss(self, questions, words, feedback, old_logps):
        """Return the mean loss of words (N,) that the policy has said to questions (N,)."""
        student = self.policy(questions)
        with torch.no_grad():
            teacher = self.policy(questions, feedback)
        if self.mode == "topk_logits":
            losses = compute_topk_self_distillation_loss(
                student,
                teacher,
                distillation_topk=self.topk,
                distillation_alpha=self.alpha,
                distillation_add_tail=self.add_tail,
            )
        elif self.mode == "full_logits":
            losses = compute_full_logit_self_distillation_loss(student, teacher, distillation_alpha=self.alpha)
        else:
            losses = compute_sampled_token_self_distillation_loss(
                student, teacher, words, distillation_alpha=self.alpha
            )
        logps = selective_log_softmax(student, words)
        return apply_importance_sampling_clipping(losses, logps, old_logps, self.clip).mean()

    def step(self, questions, answers, generator):
        """Let the policy answer, give the correct answers as feedback, and make two steps of gradient descent."""
        with torch.no_grad():
            logits = self.policy(questions)
            words = torch.multinomial(logits.softmax(-1), 1, generator=generator).squeeze(-1)
            old_logps = selective_log_softmax(logits, words)
        for _ in range(2):
            loss = self.loss(questions, words, answers[questions], old_logps)
            (slope,) = torch.autograd.grad(loss, self.policy.table)
            self.policy.table.data.sub_(self.rate * slope)
        return loss.item()
