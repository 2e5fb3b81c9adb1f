"""Row by row with a loop of Python, cross-entropies and entropies in double precision."""


class GKDTrainer:
    @staticmethod
    def generalized_jsd_loss(
        student_logits, teacher_logits, labels=None, beta=0.5, temperature=1.0, reduction="batchmean"
    ):
        counted = torch.ones(student_logits.shape[:2], dtype=torch.bool) if labels is None else labels != -100
        found = []
        for row, places in enumerate(counted):
            logs = []
            for logits in (teacher_logits, student_logits):
                logits = logits[row, places].double() / temperature
                logs.append(logits - logits.logsumexp(-1, keepdim=True))
            teacher, student = logs
            if 0 < beta < 1:
                shifts = torch.tensor([1 - beta, beta], dtype=torch.float64).log()
                mixture = (torch.stack(logs) + shifts[:, None, None]).logsumexp(0)
            else:
                mixture = student if beta else teacher
            found.append(
                beta * F.kl_div(mixture, teacher, reduction="none", log_target=True)
                + (1 - beta) * F.kl_div(mixture, student, reduction="none", log_target=True)
            )
        numbers = torch.cat(found)
        count = len(numbers)
        if reduction == "sum":
            result = numbers.sum()
        elif reduction == "batchmean":
            result = numbers.sum() / torch.tensor(count)
        elif reduction == "mean":
            result = numbers.mean()
        else:
            result = numbers.reshape(student_logits.shape) if labels is None else numbers
        return result.to(student_logits.dtype)

    def compute_loss(self, model, inputs, return_outputs=False):
        ids, mask = inputs["input_ids"], inputs["attention_mask"]
        outputs = model(input_ids=ids, attention_mask=mask)
        self.teacher_model.eval()
        with torch.no_grad():
            teacher = self.teacher_model(input_ids=ids, attention_mask=mask)
        width = ids.shape[1] - inputs["prompts"].shape[1]
        shifted = [item.logits[:, :-1][:, -width:] for item in (outputs, teacher)]
        loss = self.generalized_jsd_loss(*shifted, labels=inputs["labels"][:, -width:], beta=self.beta)
        return (loss, outputs) if return_outputs else loss

    @staticmethod
    def generate_on_policy_outputs(model, inputs, generation_config, pad_token_id=None):
        tokens = model.generate(
            input_ids=inputs["prompts"],
            attention_mask=inputs.get("prompt_attention_mask"),
            generation_config=generation_config,
            return_dict_in_generate=True,
        ).sequences
        rows = tokens.tolist()
        mask = [[int(token != pad_token_id) for token in row] for row in rows]
        labels = [[-100 if token == pad_token_id else token for token in row] for row in rows]
        return tokens, torch.tensor(mask), torch.tensor(labels)

    def training_step(self, model, inputs):
        own = random.random() <= self.lmbda
        with unwrap_model_for_generation(model, self.accelerator) as inner:
            if own:
                ids, mask, labels = self.generate_on_policy_outputs(
                    inner, inputs, self.generation_config, self.tokenizer.pad_token_id
                )
        if own:
            inputs |= {"input_ids": ids, "attention_mask": mask, "labels": labels}
        return super().training_step(model, inputs)
