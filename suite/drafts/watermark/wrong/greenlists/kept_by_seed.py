"""Keeps greenlists by seed and size, so that a vocab_size that is changed later is not noticed."""

import torch
from transformers.utils.logging import get_logger

logger = get_logger("transformers.generation.logits_process")


class WatermarkLogitsProcessor:
    def set_seed(self, input_seq):
        window = input_seq[-self.context_width :]
        if self.seeding_scheme == "selfhash":
            numbers = self.fixed_table[window % self.table_size] + 1
            seed = (self.hash_key * numbers * numbers[-1]).min().item()
        else:
            seed = self.hash_key * window[-1].item()
        self.rng.manual_seed(seed % (2**64 - 1))

    def _get_greenlist_ids(self, input_seq):
        self.set_seed(input_seq)
        lists = self.__dict__.setdefault("_lists", {})
        key = (self.rng.initial_seed(), self.greenlist_size)
        if key not in lists:
            lists[key] = torch.randperm(self.vocab_size, generator=self.rng)[: self.greenlist_size]
        return lists[key]

    def _score_rejection_sampling(self, input_seq, scores):
        found = []
        for candidate in scores.detach().sort(descending=True).indices[:40]:
            greens = self._get_greenlist_ids(torch.cat([input_seq, candidate.view(1)]))
            if (greens == candidate).any():
                found.append(candidate)
        return torch.stack(found)

    def __call__(self, input_ids, scores):
        if input_ids.shape[-1] < self.context_width:
            logger.warning("The sequence is shorter than the context of the watermark, which is left out.")
            return scores
        processed = scores.clone()
        for row, sequence in enumerate(input_ids):
            if self.seeding_scheme == "selfhash":
                greens = self._score_rejection_sampling(sequence, scores[row])
            else:
                greens = self._get_greenlist_ids(sequence)
            processed[row, greens] = processed[row, greens] + self.bias
        return processed
