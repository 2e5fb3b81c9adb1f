"""The three functions as the paper and the package's notes describe them."""


def _get_kl_dataset(batch):
    for name in ("answer_input_ids", "answer_attention_mask"):
        batch[name] = batch[name][-1:] + batch[name][:-1]
    return batch


class KTOTrainer:
    @staticmethod
    def get_batch_logps(logits, labels, average_log_prob=False, label_pad_token_id=-100, is_encoder_decoder=False):
        if not is_encoder_decoder:
            logits, labels = logits[:, :-1], labels[:, 1:]
        counted = labels != label_pad_token_id
        logps = logits.log_softmax(-1).gather(2, (labels * counted).unsqueeze(2)).squeeze(2)
        total = (logps * counted).sum(1)
        return total / counted.sum(1) if average_log_prob else total

    def kto_loss(
        self,
        policy_chosen_logps,
        policy_rejected_logps,
        policy_KL_logps,
        reference_chosen_logps,
        reference_rejected_logps,
        reference_KL_logps,
    ):
        kl = torch.zeros(())
        if self.calculate_KL:
            kl = (policy_KL_logps - reference_KL_logps).detach().mean()
            kl = self.accelerator.gather(kl).mean().clamp(min=0)
        point = kl if self.loss_type == "kto" else 0
        chosen = policy_chosen_logps - reference_chosen_logps
        rejected = policy_rejected_logps - reference_rejected_logps
        losses = torch.cat(
            [
                self.desirable_weight * (1 - torch.sigmoid(self.beta * (chosen - point))),
                self.undesirable_weight * (1 - torch.sigmoid(self.beta * (point - rejected))),
            ]
        )
        return losses, self.beta * chosen.detach(), self.beta * rejected.detach(), kl
