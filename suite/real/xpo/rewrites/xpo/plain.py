"""The shortest code that follows the instruction: one function for numbers, one margin with a sign."""


class XPOTrainer:
    def _compute_logprobs(self, model, model_data, ref_data, context_length):
        def numbers(network, data):
            ids, mask = data["input_ids"], data["attention_mask"]
            logs = network(ids, attention_mask=mask).logits[:, context_length - 1 : -1].log_softmax(-1)
            return logs.gather(2, ids[:, context_length:, None])[..., 0] * mask[:, context_length:]

        first, second = numbers(model, model_data), numbers(model, ref_data)
        with torch.no_grad():
            if self.ref_model is not None:
                return first, second, numbers(self.ref_model, ref_data), numbers(self.ref_model, model_data)
            with model.disable_adapter():
                return first, second, numbers(model, ref_data), numbers(model, model_data)

    def _compute_losses(
        self,
        model_logprobs_model_data,
        model_logprobs_ref_data,
        ref_logprobs_ref_data,
        ref_logprobs_model_data,
        chosen_mask,
    ):
        own = model_logprobs_model_data.sum(1) - ref_logprobs_model_data.sum(1)
        other = model_logprobs_ref_data.sum(1) - ref_logprobs_ref_data.sum(1)
        margin = torch.where(chosen_mask, own - other, other - own)
        if self.args.loss_type == "sigmoid":
            preferences = -(self.beta * margin).sigmoid().log()
        else:
            preferences = (margin - 1 / (2 * self.beta)) ** 2
        exploration = self.alpha * model_logprobs_ref_data.sum(1)
        return (preferences + exploration).mean(), preferences, exploration
