"""Both texts stacked, so that the preferred one is gathered; one-hot products for tokens; products with the mask."""


class XPOTrainer:
    def _compute_logprobs(self, model, model_data, ref_data, context_length):
        wanted = {}
        for name, data in (("model", model_data), ("ref", ref_data)):
            answer = data["input_ids"][:, context_length:]
            wanted[name] = answer, data["attention_mask"][:, context_length:]

        def numbers(outputs, name):
            answer, mask = wanted[name]
            logs = outputs.logits.narrow(1, context_length - 1, answer.shape[1]).log_softmax(dim=2)
            picked = (logs * F.one_hot(answer, logs.shape[2])).sum(dim=2)
            return picked * (mask != 0)

        first = numbers(model(model_data["input_ids"], attention_mask=model_data["attention_mask"]), "model")
        second = numbers(model(ref_data["input_ids"], attention_mask=ref_data["attention_mask"]), "ref")
        enabled = torch.is_grad_enabled()
        torch.set_grad_enabled(False)
        try:
            if self.ref_model is not None:
                outputs = [
                    self.ref_model(data["input_ids"], attention_mask=data["attention_mask"])
                    for data in (ref_data, model_data)
                ]
            else:
                with model.disable_adapter():
                    outputs = [
                        model(data["input_ids"], attention_mask=data["attention_mask"])
                        for data in (ref_data, model_data)
                    ]
            third, fourth = numbers(outputs[0], "ref"), numbers(outputs[1], "model")
        finally:
            torch.set_grad_enabled(enabled)
        return first, second, third, fourth

    def _compute_losses(
        self,
        model_logprobs_model_data,
        model_logprobs_ref_data,
        ref_logprobs_ref_data,
        ref_logprobs_model_data,
        chosen_mask,
    ):
        policy = torch.stack([model_logprobs_ref_data.sum(1), model_logprobs_model_data.sum(1)])
        reference = torch.stack([ref_logprobs_ref_data.sum(1), ref_logprobs_model_data.sum(1)])
        index = chosen_mask.long().unsqueeze(0)
        ratios = policy - reference
        logits = (ratios.gather(0, index) - ratios.gather(0, 1 - index)).squeeze(0)
        if self.args.loss_type == "sigmoid":
            losses = -(logits * self.beta - F.softplus(logits * self.beta))
        elif self.args.loss_type == "ipo":
            losses = logits**2 - logits / self.beta + 1 / (4 * self.beta**2)
        else:
            raise NotImplementedError
        terms = self.alpha * policy[0]
        return torch.mean(losses + terms), losses, terms
