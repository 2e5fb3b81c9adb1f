"""Language models that are tables, and a trainer for two of them."""

from collections import defaultdict
from types import SimpleNamespace

import torch
from torch import nn
from trl.experimental.iw_opd.iw_opd_config import IWOPDConfig
from trl.experimental.iw_opd.iw_opd_trainer import IWOPDTrainer


class Table(nn.Module):
    """Logits of the next token by the two tokens before it."""

    def __init__(self, words, size=1.0, generator=None):
        super().__init__()
        self.table = nn.Parameter(size * torch.randn(2, words, words, generator=generator))

    def forward(self, input_ids, attention_mask=None):
        before = input_ids.roll(1, dims=1)
        return SimpleNamespace(logits=self.table[0][input_ids] + self.table[1][before])

    @torch.no_grad()
    def write(self, prompts, length, generator):
        """Append sampled words to prompts; return the words and their log probabilities."""
        words, logps = prompts, []
        for _ in range(length):
            step = self(words).logits[:, -1].log_softmax(-1)
            drawn = torch.multinomial(step.exp(), 1, generator=generator)
            words, logps = torch.cat([words, drawn], dim=1), [*logps, step.gather(1, drawn)]
        return words, torch.cat(logps, dim=1)


def trainer_of(student, teacher, **settings):
    """Return a trainer with these settings, without the package's set-up of data, servers and generation."""
    args = IWOPDConfig(**settings)
    trainer = object.__new__(IWOPDTrainer)
    trainer.args, trainer.model, trainer.teacher_model = args, student, teacher
    trainer.use_teacher_server, trainer._local_teacher_tokenizer_matches_student = False, True
    for name in ("beta", "distillation_objective", "iw_opd_gamma", "iw_opd_epsilon", "temperature"):
        setattr(trainer, name, getattr(args, name))
    trainer._metrics = {"train": defaultdict(list), "eval": defaultdict(list)}
    return trainer
