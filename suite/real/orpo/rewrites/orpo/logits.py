"""Odds as logits of probabilities, cross-entropies for both kinds of likelihood, and metrics from one table."""


class ORPOTrainer:
    def odds_ratio_loss(self, policy_chosen_logps, policy_rejected_logps):
        def log_odds(logps):
            return logps - torch.log(-torch.expm1(logps))

        difference = log_odds(policy_chosen_logps) - log_odds(policy_rejected_logps)
        ratio = F.logsigmoid(difference)
        return (
            ratio * self.beta,
            policy_chosen_logps.detach() * self.beta,
            policy_rejected_logps.detach() * self.beta,
            ratio.mean(),
            difference.mean(),
        )

    @staticmethod
    def get_batch_logps(logits, labels, average_log_prob=False, label_pad_token_id=-100, is_encoder_decoder=False):
        if logits.shape[:-1] != labels.shape:
            raise ValueError("sizes differ")
        rows, length, words = logits.shape
        first = int(not is_encoder_decoder)
        wanted = labels[:, first:].reshape(-1)
        wanted = wanted.masked_fill(wanted == label_pad_token_id, -100)
        shown = logits[:, : length - first].reshape(-1, words)
        losses = F.cross_entropy(shown, wanted, ignore_index=-100, reduction="none").view(rows, length - first)
        total = losses.sum(dim=1).neg()
        return total / (wanted != -100).view(rows, -1).sum(dim=1) if average_log_prob else total

    def concatenated_forward(self, model, batch):
        joined = self.concatenated_inputs(
            batch, self.is_encoder_decoder, self.label_pad_token_id, self.padding_value, self.accelerator.device
        )
        ids, mask, labels = (joined[f"concatenated_{name}"] for name in ("input_ids", "attention_mask", "labels"))
        more = {}
        if self.is_encoder_decoder:
            more["decoder_input_ids"] = self._shift_right(labels)
        if self.aux_loss_enabled:
            more["output_router_logits"] = True
        outputs = model(ids, attention_mask=mask, use_cache=False, **more)
        logits = outputs.logits
        logps = self.get_batch_logps(logits, labels, True, self.label_pad_token_id, self.is_encoder_decoder)
        half = len(batch["chosen_labels"])
        written = labels if self.is_encoder_decoder else ids.masked_fill(mask != 1, -100)
        own, wanted = logits[:half], written[:half]
        if not self.is_encoder_decoder:
            own, wanted = own[:, :-1], wanted[:, 1:]
        nll = F.cross_entropy(own.transpose(1, 2), wanted)
        result = (logps[:half], logps[half:], logits[:half], logits[half:], nll)
        return (*result, outputs.aux_loss) if self.aux_loss_enabled else result

    def get_batch_loss_metrics(self, model, batch, train_eval="train"):
        chosen, rejected, chosen_logits, rejected_logits, nll, *others = self.concatenated_forward(model, batch)
        losses, chosen_rewards, rejected_rewards, ratio, odds = self.odds_ratio_loss(chosen, rejected)
        loss = nll - losses.mean()
        for aux in others:
            loss = loss + getattr(model.config, "router_aux_loss_coef", 0.0) * aux
        table = {
            "rewards/chosen": chosen_rewards,
            "rewards/rejected": rejected_rewards,
            "rewards/accuracies": (chosen_rewards > rejected_rewards).double(),
            "rewards/margins": chosen_rewards - rejected_rewards,
            "logps/rejected": rejected,
            "logps/chosen": chosen,
            "logits/rejected": rejected_logits,
            "logits/chosen": chosen_logits,
            "nll_loss": nll,
            "log_odds_ratio": ratio,
            "log_odds_chosen": odds,
        }
        prefix = {"eval": "eval_"}.get(train_eval, "")
        return loss, {prefix + name: item.detach().mean().item() for name, item in table.items()}
