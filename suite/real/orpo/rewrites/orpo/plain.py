"""The four methods as the paper and the package's notes describe them."""


class ORPOTrainer:
    def odds_ratio_loss(self, policy_chosen_logps, policy_rejected_logps):
        chosen = policy_chosen_logps - torch.log1p(-policy_chosen_logps.exp())
        rejected = policy_rejected_logps - torch.log1p(-policy_rejected_logps.exp())
        log_odds = chosen - rejected
        ratio = F.logsigmoid(log_odds)
        rewards = self.beta * policy_chosen_logps.detach(), self.beta * policy_rejected_logps.detach()
        return self.beta * ratio, *rewards, ratio.mean(), log_odds.mean()

    @staticmethod
    def get_batch_logps(logits, labels, average_log_prob=False, label_pad_token_id=-100, is_encoder_decoder=False):
        if not is_encoder_decoder:
            logits, labels = logits[:, :-1], labels[:, 1:]
        counted = labels != label_pad_token_id
        logps = logits.log_softmax(-1).gather(2, (labels * counted).unsqueeze(2)).squeeze(2)
        total = (logps * counted).sum(1)
        return total / counted.sum(1) if average_log_prob else total

    def concatenated_forward(self, model, batch):
        joined = self.concatenated_inputs(
            batch, self.is_encoder_decoder, self.label_pad_token_id, self.padding_value, self.accelerator.device
        )
        ids, mask, labels = [joined[f"concatenated_{name}"] for name in ("input_ids", "attention_mask", "labels")]
        more = {}
        if self.is_encoder_decoder:
            more["decoder_input_ids"] = self._shift_right(labels)
        if self.aux_loss_enabled:
            more["output_router_logits"] = True
        outputs = model(ids, attention_mask=mask, use_cache=False, **more)
        logits, half = outputs.logits, len(labels) // 2
        logps = self.get_batch_logps(logits, labels, True, is_encoder_decoder=self.is_encoder_decoder)
        if self.is_encoder_decoder:
            nll = F.cross_entropy(logits[:half].flatten(0, 1), labels[:half].flatten())
        else:
            tokens = ids.masked_fill(mask == 0, -100)[:half, 1:]
            nll = F.cross_entropy(logits[:half, :-1].flatten(0, 1), tokens.flatten())
        parts = logps[:half], logps[half:], logits[:half], logits[half:], nll
        return (*parts, outputs.aux_loss) if self.aux_loss_enabled else parts

    def get_batch_loss_metrics(self, model, batch, train_eval="train"):
        chosen, rejected, chosen_logits, rejected_logits, nll, *aux = self.concatenated_forward(model, batch)
        losses, chosen_rewards, rejected_rewards, ratio, odds = self.odds_ratio_loss(chosen, rejected)
        loss = nll - losses.mean()
        if aux:
            loss = loss + model.config.router_aux_loss_coef * aux[0]
        metrics = {
            "rewards/chosen": chosen_rewards,
            "rewards/rejected": rejected_rewards,
            "rewards/accuracies": (chosen_rewards > rejected_rewards).to(loss.dtype),
            "rewards/margins": chosen_rewards - rejected_rewards,
            "logps/chosen": chosen,
            "logps/rejected": rejected,
            "logits/chosen": chosen_logits,
            "logits/rejected": rejected_logits,
            "nll_loss": nll,
            "log_odds_ratio": ratio,
            "log_odds_chosen": odds,
        }
        prefix = "eval_" if train_eval == "eval" else ""
        return loss, {prefix + name: value.mean().item() for name, value in metrics.items()}
