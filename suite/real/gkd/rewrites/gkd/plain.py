"""The shortest code that follows the instruction, with a mixture of probabilities."""


class GKDTrainer:
    @staticmethod
    def generalized_jsd_loss(
        student_logits, teacher_logits, labels=None, beta=0.5, temperature=1.0, reduction="batchmean"
    ):
        student = (student_logits / temperature).log_softmax(-1)
        teacher = (teacher_logits / temperature).log_softmax(-1)
        mixture = ((1 - beta) * teacher.exp() + beta * student.exp()).log()
        numbers = beta * teacher.exp() * (teacher - mixture) + (1 - beta) * student.exp() * (student - mixture)
        count = labels.ne(-100).sum() if labels is not None else numbers[..., 0].numel()
        if labels is not None:
            numbers = numbers[labels != -100]
        if reduction == "batchmean":
            return numbers.sum() / count
        return {"sum": numbers.sum, "mean": numbers.mean, "none": lambda: numbers}[reduction]()

    def compute_loss(self, model, inputs, return_outputs=False):
        texts = {name: inputs[name] for name in ("input_ids", "attention_mask")}
        outputs = model(**texts)
        self.teacher_model.eval()
        with torch.no_grad():
            teacher = self.teacher_model(**texts).logits
        start = inputs["prompts"].shape[1]
        shifted = outputs.logits[:, start - 1 : -1], teacher[:, start - 1 : -1]
        loss = self.generalized_jsd_loss(*shifted, inputs["labels"][:, start:], self.beta)
        return (loss, outputs) if return_outputs else loss

    @staticmethod
    def generate_on_policy_outputs(model, inputs, generation_config, pad_token_id=None):
        tokens = model.generate(
            input_ids=inputs["prompts"],
            attention_mask=inputs.get("prompt_attention_mask"),
            generation_config=generation_config,
            return_dict_in_generate=True,
        ).sequences
        padding = tokens == pad_token_id
        return tokens, (~padding).long(), tokens.masked_fill(padding, -100)

    def training_step(self, model, inputs):
        if random.random() <= self.lmbda:
            with unwrap_model_for_generation(model, self.accelerator) as inner:
                texts = self.generate_on_policy_outputs(
                    inner, inputs, self.generation_config, self.tokenizer.pad_token_id
                )
            inputs |= zip(("input_ids", "attention_mask", "labels"), texts)
        return super().training_step(model, inputs)
