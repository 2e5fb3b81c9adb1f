"""Both kinds in one tensor with signs and weights; labels by a one-hot product; pairs by deques."""

from collections import deque


def _get_kl_dataset(batch):
    for name in ("answer_input_ids", "answer_attention_mask"):
        queue = deque(batch[name])
        queue.rotate(1)
        batch[name] = list(queue)
    return batch


class KTOTrainer:
    @staticmethod
    def get_batch_logps(logits, labels, average_log_prob=False, label_pad_token_id=-100, is_encoder_decoder=False):
        if logits.shape[0] != labels.shape[0] or logits.shape[1] != labels.shape[1]:
            raise ValueError(f"{logits.shape} and {labels.shape}")
        if not is_encoder_decoder:
            logits, labels = logits[:, : logits.shape[1] - 1], labels[:, 1:]
        counted = labels.ne(label_pad_token_id)
        chosen = F.one_hot(labels.masked_fill(~counted, 0), logits.shape[-1]) * counted.unsqueeze(-1)
        total = (F.log_softmax(logits, dim=-1) * chosen).sum(dim=(1, 2))
        return total / counted.sum(dim=1) if average_log_prob else total

    def kto_loss(
        self,
        policy_chosen_logps,
        policy_rejected_logps,
        policy_KL_logps,
        reference_chosen_logps,
        reference_rejected_logps,
        reference_KL_logps,
    ):
        chosen, rejected = len(policy_chosen_logps), len(policy_rejected_logps)
        if self.calculate_KL:
            mean = policy_KL_logps.detach().mean() - reference_KL_logps.detach().mean()
            point = F.relu(self.accelerator.gather(mean).mean())
        else:
            point = torch.tensor([0.0])
        ratios = torch.cat([policy_chosen_logps, policy_rejected_logps])
        ratios = ratios - torch.cat([reference_chosen_logps, reference_rejected_logps])
        signs = torch.cat([ratios.new_ones(chosen), -ratios.new_ones(rejected)])
        weights = torch.full_like(signs, self.desirable_weight)
        weights[chosen:] = self.undesirable_weight
        gains = ratios - point if self.loss_type == "kto" else ratios
        losses = weights - weights * torch.sigmoid(signs * gains * self.beta)
        rewards = (ratios * self.beta).detach().split([chosen, rejected])
        rewards = [item if len(item) else item.float() for item in rewards]
        return (losses if len(losses) else losses.detach().float()), rewards[0], rewards[1], point
