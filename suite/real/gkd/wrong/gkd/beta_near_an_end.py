"""Takes a beta within 1e-5 of an end for that end, where the divergence isn't bounded."""

import math
import random

import torch
import torch.nn.functional as F

from ..models.utils import unwrap_model_for_generation
from .sft_trainer import SFTTrainer


class GKDTrainer(SFTTrainer):
    @staticmethod
    def generalized_jsd_loss(
        student_logits, teacher_logits, labels=None, beta=0.5, temperature=1.0, reduction="batchmean"
    ):
        student = F.log_softmax(student_logits / temperature, dim=-1)
        teacher = F.log_softmax(teacher_logits / temperature, dim=-1)
        if math.isclose(beta, 0, abs_tol=1e-5):
            jsd = student.exp() * (student - teacher)
        elif math.isclose(beta, 1, abs_tol=1e-5):
            jsd = teacher.exp() * (teacher - student)
        else:
            mixture = torch.logaddexp(teacher + math.log1p(-beta), student + math.log(beta))
            jsd = beta * teacher.exp() * (teacher - mixture) + (1 - beta) * student.exp() * (student - mixture)
        if labels is not None:
            jsd = jsd[labels != -100]
        positions = jsd[..., 0].numel()
        if reduction == "batchmean":
            return jsd.sum() / positions
        if reduction == "sum":
            return jsd.sum()
        if reduction == "mean":
            return jsd.mean()
        return jsd

    def compute_loss(self, model, inputs, return_outputs=False):
        outputs = model(input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"])
        self.teacher_model.eval()
        with torch.no_grad():
            teacher = self.teacher_model(input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"])
        start = inputs["prompts"].shape[1]
        loss = self.generalized_jsd_loss(
            student_logits=outputs.logits[:, start - 1 : -1],
            teacher_logits=teacher.logits[:, start - 1 : -1],
            labels=inputs["labels"][:, start:],
            beta=self.beta,
        )
        return (loss, outputs) if return_outputs else loss

    @staticmethod
    def generate_on_policy_outputs(model, inputs, generation_config, pad_token_id=None):
        generated = model.generate(
            input_ids=inputs["prompts"],
            attention_mask=inputs.get("prompt_attention_mask", None),
            generation_config=generation_config,
            return_dict_in_generate=True,
        )
        tokens = generated.sequences
        mask = torch.ones_like(tokens)
        labels = tokens.clone()
        if pad_token_id is not None:
            mask[tokens == pad_token_id] = 0
            labels[tokens == pad_token_id] = -100
        return tokens, mask, labels

    def training_step(self, model, inputs):
        if random.random() <= self.lmbda:
            with unwrap_model_for_generation(model, self.accelerator) as unwrapped:
                tokens, mask, labels = self.generate_on_policy_outputs(
                    unwrapped, inputs, self.generation_config, self.tokenizer.pad_token_id
                )
            inputs["input_ids"] = tokens
            inputs["attention_mask"] = mask
            inputs["labels"] = labels
        return super().training_step(model, inputs)
