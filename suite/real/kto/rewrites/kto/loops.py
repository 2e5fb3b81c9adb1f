"""Example by example, with Python's own loops and the logistic function of minus the argument."""


def _get_kl_dataset(batch):
    for name in ("answer_input_ids", "answer_attention_mask"):
        given = batch[name]
        batch[name] = [given[place - 1] for place in range(len(given))]
    return batch


class KTOTrainer:
    @staticmethod
    def get_batch_logps(logits, labels, average_log_prob=False, label_pad_token_id=-100, is_encoder_decoder=False):
        if tuple(logits.shape[:2]) != tuple(labels.shape):
            raise ValueError("logits and labels differ in size")
        shift = 0 if is_encoder_decoder else 1
        results = []
        for row, wanted in zip(logits, labels):
            total, count = row.sum() * 0, 0
            for place in range(shift, len(wanted)):
                label = int(wanted[place])
                if label == label_pad_token_id:
                    continue
                here = row[place - shift]
                total = total + (here[label] - here.logsumexp(dim=-1))
                count += 1
            if average_log_prob:
                total = total / count if count else total * float("nan")
            results.append(total)
        return torch.stack(results)

    def kto_loss(
        self,
        policy_chosen_logps,
        policy_rejected_logps,
        policy_KL_logps,
        reference_chosen_logps,
        reference_rejected_logps,
        reference_KL_logps,
    ):
        point = torch.zeros(1)
        if self.calculate_KL:
            with torch.no_grad():
                ratios = policy_KL_logps.detach() - reference_KL_logps.detach()
                point = self.accelerator.gather(ratios.sum() / len(ratios)).mean()
                point = torch.where(point < 0, torch.zeros_like(point), point)
        anchor = point.reshape(()) if self.loss_type == "kto" else 0.0
        losses, rewards = [], []
        for sign, weight, policy, reference in (
            (1, self.desirable_weight, policy_chosen_logps, reference_chosen_logps),
            (-1, self.undesirable_weight, policy_rejected_logps, reference_rejected_logps),
        ):
            if len(policy) == 0:
                rewards.append(torch.empty(0))
                continue
            mine = []
            for own, other in zip(policy, reference):
                ratio = own - other
                mine.append(self.beta * ratio.detach())
                losses.append(weight * torch.sigmoid(-sign * self.beta * (ratio - anchor)))
            rewards.append(torch.stack(mine))
        return torch.stack(losses) if losses else torch.empty(0), *rewards, point
