"""The margin between both texts with a sign for the preferred one; cross-entropies for tokens."""


class XPOTrainer:
    def _compute_logprobs(self, model, model_data, ref_data, context_length):
        def numbers(network, data):
            ids, mask = data["input_ids"], data["attention_mask"]
            logits = network(ids, attention_mask=mask).logits
            losses = F.cross_entropy(logits[:, :-1].transpose(1, 2), ids[:, 1:], reduction="none")
            counted = mask[:, context_length:] != 0
            return torch.where(counted, -losses[:, context_length - 1 :], torch.zeros((), dtype=losses.dtype))

        own, other = numbers(model, model_data), numbers(model, ref_data)
        reference = self.ref_model
        with torch.no_grad():
            if reference is None:
                with model.disable_adapter():
                    of_reference, of_model = numbers(model, ref_data), numbers(model, model_data)
            else:
                of_reference, of_model = numbers(reference, ref_data), numbers(reference, model_data)
        return own, other, of_reference, of_model

    def _compute_losses(
        self,
        model_logprobs_model_data,
        model_logprobs_ref_data,
        ref_logprobs_ref_data,
        ref_logprobs_model_data,
        chosen_mask,
    ):
        of_model = model_logprobs_model_data.sum(dim=1) - ref_logprobs_model_data.sum(dim=1)
        of_reference = model_logprobs_ref_data.sum(dim=1) - ref_logprobs_ref_data.sum(dim=1)
        sign = chosen_mask.to(of_model.dtype) * 2 - 1
        margin = sign * (of_model - of_reference)
        kinds = {
            "sigmoid": lambda: F.softplus(-self.beta * margin),
            "ipo": lambda: (margin - 0.5 / self.beta).square(),
        }
        if self.args.loss_type not in kinds:
            raise NotImplementedError(self.args.loss_type)
        preferences = kinds[self.args.loss_type]()
        exploration = model_logprobs_ref_data.sum(dim=1) * self.alpha
        return preferences.mean() + exploration.mean(), preferences, exploration
