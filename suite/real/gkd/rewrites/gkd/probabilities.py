"""Divergences of probabilities and their logarithms, the ends of beta apart; positions are chosen first."""

import math


class GKDTrainer:
    @staticmethod
    def generalized_jsd_loss(
        student_logits, teacher_logits, labels=None, beta=0.5, temperature=1.0, reduction="batchmean"
    ):
        positions = student_logits.shape[0] * student_logits.shape[1]
        if labels is not None:
            counted = labels != -100
            student_logits, teacher_logits = student_logits[counted], teacher_logits[counted]
            positions = int(counted.sum())
        q_log = (student_logits / temperature).log_softmax(dim=-1)
        p_log = (teacher_logits / temperature).log_softmax(dim=-1)
        p, q = p_log.exp(), q_log.exp()
        if beta == 0:
            numbers = q * (q_log - p_log)
        elif beta == 1:
            numbers = p * (p_log - q_log)
        else:
            mixture = torch.logaddexp(q_log + math.log(beta), p_log + math.log1p(-beta))
            numbers = beta * p * (p_log - mixture) + (1 - beta) * q * (q_log - mixture)
        if reduction == "mean":
            return numbers.mean()
        if reduction not in ("sum", "batchmean"):
            return numbers
        total = numbers.sum()
        return total if reduction == "sum" else total / positions if positions else total * float("nan")

    def compute_loss(self, model, inputs, return_outputs=False):
        given = {name: inputs[name] for name in ("input_ids", "attention_mask")}
        outputs = model(**given)
        teacher = self.teacher_model.eval()
        with torch.no_grad():
            wanted = teacher(**given).logits
        first = inputs["prompts"].size(1)
        last = inputs["input_ids"].size(1) - 1
        places = range(first - 1, last)
        loss = self.generalized_jsd_loss(
            torch.stack([outputs.logits[:, place] for place in places], dim=1),
            torch.stack([wanted[:, place] for place in places], dim=1),
            torch.stack([inputs["labels"][:, place + 1] for place in places], dim=1),
            self.beta,
        )
        return (loss, outputs) if return_outputs else loss

    @staticmethod
    def generate_on_policy_outputs(model, inputs, generation_config, pad_token_id=None):
        mask = inputs.get("prompt_attention_mask")
        tokens = model.generate(
            input_ids=inputs["prompts"],
            attention_mask=mask,
            generation_config=generation_config,
            return_dict_in_generate=True,
        ).sequences
        padded = tokens == pad_token_id if pad_token_id is not None else torch.zeros_like(tokens, dtype=torch.bool)
        return tokens, (~padded).to(tokens.dtype), tokens.masked_fill(padded, -100)

    def training_step(self, model, inputs):
        given = random.random() > self.lmbda
        if not given:
            with unwrap_model_for_generation(model, self.accelerator) as writer:
                texts = self.generate_on_policy_outputs(
                    writer, inputs, self.generation_config, pad_token_id=self.tokenizer.pad_token_id
                )
            inputs.update(zip(("input_ids", "attention_mask", "labels"), texts))
        return super().training_step(model, inputs)
