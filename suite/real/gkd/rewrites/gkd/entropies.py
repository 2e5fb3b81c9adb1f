"""Differences of logarithms relative to the mixture by softplus; masks by weights; other ways to the same tensors."""


class GKDTrainer:
    @staticmethod
    def generalized_jsd_loss(
        student_logits, teacher_logits, labels=None, beta=0.5, temperature=1.0, reduction="batchmean"
    ):
        student = nn.functional.log_softmax(student_logits * (1 / temperature), -1)
        teacher = nn.functional.log_softmax(teacher_logits * (1 / temperature), -1)
        # log(beta q + (1 - beta) p) - log p, and the same for q, without the logarithm of 0.
        difference = student - teacher
        if beta in (0, 1):
            above_teacher = difference if beta == 1 else torch.zeros_like(difference)
        else:
            above_teacher = torch.logaddexp(
                difference + torch.tensor(beta, dtype=torch.float64).log().item(),
                torch.full_like(difference, 1 - beta).log(),
            )
        above_student = above_teacher - difference
        numbers = -(beta * teacher.exp() * above_teacher + (1 - beta) * student.exp() * above_student)
        counted = torch.ones(numbers.shape[:2], dtype=torch.bool) if labels is None else labels.ne(-100)
        if reduction in ("batchmean", "sum", "mean"):
            total = torch.where(counted.unsqueeze(-1), numbers, torch.zeros_like(numbers)).sum()
            count = counted.sum() * {"mean": numbers.shape[-1]}.get(reduction, 1)
            return total if reduction == "sum" else total / count
        return numbers if labels is None else numbers.flatten(0, 1)[counted.flatten()]

    def compute_loss(self, model, inputs, return_outputs=False):
        outputs = model(input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"])
        self.teacher_model.train(False)
        with torch.no_grad():
            teacher = self.teacher_model(input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"]).logits
        # Labels of the prompt are left out, and so is the last position.
        labels = inputs["labels"].clone()
        labels[:, : inputs["prompts"].shape[1]] = -100
        labels = torch.cat((labels[:, 1:], torch.full_like(labels[:, :1], -100)), dim=1)
        loss = GKDTrainer.generalized_jsd_loss(outputs.logits, teacher, labels, beta=self.beta)
        if return_outputs:
            return loss, outputs
        return loss

    @staticmethod
    def generate_on_policy_outputs(model, inputs, generation_config, pad_token_id=None):
        generated = model.generate(
            return_dict_in_generate=True,
            generation_config=generation_config,
            attention_mask=inputs.get("prompt_attention_mask"),
            input_ids=inputs["prompts"],
        )
        tokens = generated.sequences
        mask, labels = tokens.new_ones(tokens.shape), tokens.clone()
        if pad_token_id is not None:
            mask = (tokens != pad_token_id).type_as(tokens)
            labels = torch.where(mask.bool(), labels, -100)
        return tokens, mask, labels

    def training_step(self, model, inputs):
        if self.lmbda >= random.random():
            with unwrap_model_for_generation(model, self.accelerator) as inner:
                result = GKDTrainer.generate_on_policy_outputs(
                    inner, inputs, self.generation_config, self.tokenizer.pad_token_id
                )
                inputs["input_ids"], inputs["attention_mask"], inputs["labels"] = result
        return SFTTrainer.training_step(self, model, inputs)
