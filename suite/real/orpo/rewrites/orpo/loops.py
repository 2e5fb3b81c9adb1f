"""Row by row and position by position, with odds computed as numbers."""


class ORPOTrainer:
    def odds_ratio_loss(self, policy_chosen_logps, policy_rejected_logps):
        ratios, odds = [], []
        for chosen, rejected in zip(policy_chosen_logps, policy_rejected_logps):
            chosen_odds = torch.exp(chosen) / -torch.expm1(chosen)
            rejected_odds = torch.exp(rejected) / -torch.expm1(rejected)
            odds.append(torch.log(chosen_odds / rejected_odds))
            ratios.append(-torch.log1p(rejected_odds / chosen_odds))
        ratios, odds = torch.stack(ratios), torch.stack(odds)
        with torch.no_grad():
            rewards = self.beta * policy_chosen_logps, self.beta * policy_rejected_logps
        return self.beta * ratios, *rewards, ratios.mean(), odds.mean()

    @staticmethod
    def get_batch_logps(logits, labels, average_log_prob=False, label_pad_token_id=-100, is_encoder_decoder=False):
        if tuple(logits.shape[:2]) != tuple(labels.shape):
            raise ValueError("logits and labels differ in size")
        shift = 0 if is_encoder_decoder else 1
        results = []
        for row, wanted in zip(logits, labels.tolist()):
            found = []
            for place in range(shift, len(wanted)):
                if wanted[place] != label_pad_token_id:
                    here = row[place - shift].float() if row.dtype == torch.bfloat16 else row[place - shift]
                    found.append(here[wanted[place]] - here.logsumexp(dim=-1))
            total = torch.stack(found).sum() if found else row.sum() * 0
            if average_log_prob:
                total = total / len(found) if found else total * float("nan")
            results.append(total)
        return torch.stack(results).to(logits.dtype)

    def concatenated_forward(self, model, batch):
        joined = self.concatenated_inputs(
            batch,
            is_encoder_decoder=self.is_encoder_decoder,
            label_pad_token_id=self.label_pad_token_id,
            padding_value=self.padding_value,
            device=self.accelerator.device,
        )
        labels = joined["concatenated_labels"]
        more = {"decoder_input_ids": self._shift_right(labels)} if self.is_encoder_decoder else {}
        if self.aux_loss_enabled:
            more["output_router_logits"] = True
        ids, mask = joined["concatenated_input_ids"], joined["concatenated_attention_mask"]
        outputs = model(ids, attention_mask=mask, use_cache=False, **more)
        half = len(labels) // 2
        parts = outputs.logits[:half], outputs.logits[half:]
        logps = [
            self.get_batch_logps(part, wanted, average_log_prob=True, is_encoder_decoder=self.is_encoder_decoder)
            for part, wanted in zip(parts, (labels[:half], labels[half:]))
        ]
        terms = []
        for row in range(half):
            if self.is_encoder_decoder:
                counted = [(place, place) for place in range(labels.shape[1]) if labels[row, place] != -100]
                tokens = labels
            else:
                counted = [(place - 1, place) for place in range(1, ids.shape[1]) if mask[row, place] == 1]
                tokens = ids
            for place, of in counted:
                here = parts[0][row, place]
                terms.append(here.logsumexp(0) - here[tokens[row, of]])
        nll = torch.stack(terms).mean()
        more = (outputs.aux_loss,) if self.aux_loss_enabled else ()
        return (*logps, *parts, nll, *more)

    def get_batch_loss_metrics(self, model, batch, train_eval="train"):
        parts = self.concatenated_forward(model, batch)
        chosen, rejected = parts[:2]
        losses, chosen_rewards, rejected_rewards, ratio, odds = self.odds_ratio_loss(chosen, rejected)
        loss = parts[4] - losses.sum() / len(losses)
        if self.aux_loss_enabled and hasattr(model.config, "router_aux_loss_coef"):
            loss = loss + model.config.router_aux_loss_coef * parts[5]
        wins = [one > other for one, other in zip(chosen_rewards.tolist(), rejected_rewards.tolist())]
        metrics = {
            "rewards/chosen": chosen_rewards.mean().item(),
            "rewards/rejected": rejected_rewards.mean().item(),
            "rewards/accuracies": sum(wins) / len(wins),
            "rewards/margins": chosen_rewards.mean().item() - rejected_rewards.mean().item(),
            "logps/rejected": rejected.mean().item(),
            "logps/chosen": chosen.mean().item(),
            "logits/rejected": parts[3].mean().item(),
            "logits/chosen": parts[2].mean().item(),
            "nll_loss": parts[4].item(),
            "log_odds_ratio": ratio.item(),
            "log_odds_chosen": odds.item(),
        }
        if train_eval == "eval":
            metrics = {f"eval_{name}": value for name, value in metrics.items()}
        return loss, metrics
