"""The logistic function by softplus; one-hot products for labels; the likelihood by a masked mean of rows."""


class ORPOTrainer:
    def odds_ratio_loss(self, policy_chosen_logps, policy_rejected_logps):
        both = torch.stack([policy_chosen_logps, policy_rejected_logps])
        against = torch.log1p(-both.exp())
        log_odds = (both - against)[0] - (both - against)[1]
        logs = -F.softplus(-log_odds)
        rewards = self.beta * both.detach()
        return self.beta * logs, rewards[0], rewards[1], logs.mean(), log_odds.mean()

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

    def concatenated_forward(self, model, batch):
        decoder = self.is_encoder_decoder
        joined = self.concatenated_inputs(
            batch, decoder, self.label_pad_token_id, padding_value=self.padding_value, device=self.accelerator.device
        )
        named = {"attention_mask": joined["concatenated_attention_mask"], "use_cache": False}
        if decoder:
            named["decoder_input_ids"] = self._shift_right(joined["concatenated_labels"])
        if self.aux_loss_enabled:
            named["output_router_logits"] = True
        outputs = model(joined["concatenated_input_ids"], **named)
        chosen_logits, rejected_logits = outputs.logits.chunk(2)
        labels = joined["concatenated_labels"]
        chosen, rejected = self.get_batch_logps(
            outputs.logits, labels, average_log_prob=True, is_encoder_decoder=decoder
        ).chunk(2)
        if decoder:
            tokens = labels.chunk(2)[0]
            counted = tokens != -100
            shown = chosen_logits
        else:
            tokens = joined["concatenated_input_ids"].chunk(2)[0][:, 1:]
            counted = named["attention_mask"].chunk(2)[0][:, 1:] == 1
            shown = chosen_logits[:, :-1]
        picked = shown.log_softmax(-1).gather(2, tokens.clamp(min=0)[..., None])[..., 0]
        nll = -picked[counted].mean()
        if not self.aux_loss_enabled:
            return chosen, rejected, chosen_logits, rejected_logits, nll
        return chosen, rejected, chosen_logits, rejected_logits, nll, outputs.aux_loss

    def get_batch_loss_metrics(self, model, batch, train_eval="train"):
        outputs = self.concatenated_forward(model, batch)
        chosen, rejected, chosen_logits, rejected_logits, nll = outputs[:5]
        losses, *rewards, ratio, odds = self.odds_ratio_loss(chosen, rejected)
        loss = nll + (-losses).mean()
        if self.aux_loss_enabled:
            loss = loss + outputs[5] * getattr(model.config, "router_aux_loss_coef", 0)
        values = (
            *(item.mean() for item in rewards),
            (rewards[0] - rewards[1]).gt(0).float().mean(),
            (rewards[0] - rewards[1]).mean(),
            rejected.mean(),
            chosen.mean(),
            rejected_logits.mean(),
            chosen_logits.mean(),
            nll,
            ratio,
            odds,
        )
        names = [
            "rewards/chosen",
            "rewards/rejected",
            "rewards/accuracies",
            "rewards/margins",
            "logps/rejected",
            "logps/chosen",
            "logits/rejected",
            "logits/chosen",
            "nll_loss",
            "log_odds_ratio",
            "log_odds_chosen",
        ]
        start = "eval_" if train_eval == "eval" else ""
        return loss, {start + name: float(value) for name, value in zip(names, values, strict=True)}
