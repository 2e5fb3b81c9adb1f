"""Clips differences from the reference point at 1000, which shows where beta is small."""

import torch


def _get_kl_dataset(batch):
    for key in ("answer_input_ids", "answer_attention_mask"):
        batch[key] = [batch[key][-1]] + batch[key][:-1]
    return batch


class KTOTrainer:
    @staticmethod
    def get_batch_logps(logits, labels, average_log_prob=False, label_pad_token_id=-100, is_encoder_decoder=False):
        if logits.shape[:-1] != labels.shape:
            raise ValueError("Logits and labels must have the same first two sizes.")
        if not is_encoder_decoder:
            labels = labels[:, 1:].clone()
            logits = logits[:, :-1, :]
        else:
            labels = labels.clone()
        mask = labels != label_pad_token_id
        labels[~mask] = 0
        logps = torch.gather(logits.log_softmax(-1), 2, labels.unsqueeze(2)).squeeze(2)
        total = (logps * mask).sum(-1)
        return total / mask.sum(-1) if average_log_prob else total

    def kto_loss(
        self,
        policy_chosen_logps,
        policy_rejected_logps,
        policy_KL_logps,
        reference_chosen_logps,
        reference_rejected_logps,
        reference_KL_logps,
    ):
        if self.calculate_KL:
            kl = (policy_KL_logps - reference_KL_logps).mean().detach()
            kl = self.accelerator.gather(kl).mean().clamp(min=0)
        else:
            kl = torch.zeros(1)
        point = kl if self.loss_type == "kto" else 0
        empty = torch.zeros(0)
        losses, rewards = [], []
        for policy, reference, sign, weight in (
            (policy_chosen_logps, reference_chosen_logps, 1, self.desirable_weight),
            (policy_rejected_logps, reference_rejected_logps, -1, self.undesirable_weight),
        ):
            if len(policy) == 0:
                losses.append(empty)
                rewards.append(empty)
                continue
            ratios = policy - reference
            losses.append(weight * (1 - torch.sigmoid(self.beta * (sign * (ratios - point)).clamp(-1000, 1000))))
            rewards.append(self.beta * ratios.detach())
        return torch.cat(losses, 0), rewards[0], rewards[1], kl
