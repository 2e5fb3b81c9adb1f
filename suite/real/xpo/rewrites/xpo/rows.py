"""Pair by pair, with normalisers by logsumexp, and the context of the adapter entered for each text."""

from contextlib import nullcontext


class XPOTrainer:
    def _compute_logprobs(self, model, model_data, ref_data, context_length):
        def numbers(network, data):
            logits = network(data["input_ids"], attention_mask=data["attention_mask"]).logits
            rows, length = data["input_ids"].shape
            columns = []
            for place in range(context_length, length):
                here = logits[:, place - 1]
                token = data["input_ids"][:, place]
                number = here[torch.arange(rows), token] - here.logsumexp(dim=-1)
                columns.append(number.masked_fill(data["attention_mask"][:, place] == 0, 0))
            return torch.stack(columns, dim=1)

        def by_reference(data):
            network = model if self.ref_model is None else self.ref_model
            context = model.disable_adapter() if self.ref_model is None else nullcontext()
            with torch.no_grad(), context:
                return numbers(network, data)

        first = numbers(model, model_data)
        second = numbers(model, ref_data)
        return first, second, by_reference(ref_data), by_reference(model_data)

    def _compute_losses(
        self,
        model_logprobs_model_data,
        model_logprobs_ref_data,
        ref_logprobs_ref_data,
        ref_logprobs_model_data,
        chosen_mask,
    ):
        kind = self.args.loss_type
        if kind != "sigmoid" and kind != "ipo":
            raise NotImplementedError(f"there is no loss {kind}")
        preferences, terms = [], []
        for row, chosen in enumerate(chosen_mask.tolist()):
            ratios = [
                model_logprobs_model_data[row].sum() - ref_logprobs_model_data[row].sum(),
                model_logprobs_ref_data[row].sum() - ref_logprobs_ref_data[row].sum(),
            ]
            margin = ratios[0] - ratios[1] if chosen else ratios[1] - ratios[0]
            if kind == "sigmoid":
                preferences.append(torch.logaddexp(torch.zeros_like(margin), -self.beta * margin))
            else:
                preferences.append((margin - 1 / (2 * self.beta)) ** 2)
            terms.append(self.alpha * model_logprobs_ref_data[row].sum())
        preferences, terms = torch.stack(preferences), torch.stack(terms)
        return (preferences + terms).sum() / len(terms), preferences, terms
