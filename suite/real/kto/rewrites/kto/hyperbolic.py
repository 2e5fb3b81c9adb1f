"""The logistic function as a hyperbolic tangent; cross-entropy for the labels; pairs by zipping a shifted list."""


def _get_kl_dataset(batch):
    before = range(-1, len(batch["answer_input_ids"]) - 1)
    batch.update(
        {key: list(map(batch[key].__getitem__, before)) for key in ("answer_input_ids", "answer_attention_mask")}
    )
    return batch


def _half(argument):
    return 0.5 + 0.5 * torch.tanh(argument / 2)


class KTOTrainer:
    @staticmethod
    def get_batch_logps(logits, labels, average_log_prob=False, label_pad_token_id=-100, is_encoder_decoder=False):
        if logits.shape[:-1] != labels.shape:
            raise ValueError("sizes differ")
        rows, length, words = logits.shape
        first = int(not is_encoder_decoder)
        labels = labels[:, first:].reshape(-1)
        logits = logits[:, : length - first].reshape(-1, words)
        # A label that no word has is ignored.
        labels = labels.masked_fill(labels == label_pad_token_id, -100)
        losses = F.cross_entropy(logits, labels, ignore_index=-100, reduction="none").view(rows, length - first)
        total = -losses.sum(dim=1)
        if average_log_prob:
            total = total / (labels != -100).view(rows, -1).sum(dim=1)
        return total

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
            estimate = torch.mean(policy_KL_logps - reference_KL_logps).detach()
            estimate = torch.clamp_min(torch.mean(self.accelerator.gather(estimate)), 0.0)
        else:
            estimate = torch.zeros((1,), dtype=torch.float32)
        shift = self.beta * estimate if self.loss_type == "kto" else 0.0

        def rewarded(policy, reference):
            return self.beta * (policy - reference)

        parts, rewards = [], []
        if len(policy_chosen_logps):
            reward = rewarded(policy_chosen_logps, reference_chosen_logps)
            parts.append(self.desirable_weight * _half(shift - reward))
            rewards.append(reward.detach())
        else:
            rewards.append(torch.FloatTensor())
        if len(policy_rejected_logps):
            reward = rewarded(policy_rejected_logps, reference_rejected_logps)
            parts.append(self.undesirable_weight * _half(reward - shift))
            rewards.append(reward.detach())
        else:
            rewards.append(torch.FloatTensor())
        losses = torch.cat(parts) if parts else torch.FloatTensor()
        return losses, rewards[0], rewards[1], estimate
