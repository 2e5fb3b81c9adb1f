"""A mask of green tokens for the batch, ranks of tokens by inverting permutations, and numpy's integers."""

import numpy as np


def set_seed(self, input_seq):
    window = input_seq[input_seq.numel() - self.context_width :].numpy()
    if self.seeding_scheme == "lefthash":
        seed = int(window[-1]) * self.hash_key
    else:
        table = self.fixed_table.numpy()
        numbers = table[np.remainder(window, self.table_size)] + np.int64(1)
        with np.errstate(over="ignore"):
            seed = int((numbers * np.int64(self.hash_key) * numbers[-1]).min())
    self.rng.manual_seed(seed % (2**64 - 1))


def _get_greenlist_ids(self, input_seq):
    self.set_seed(input_seq)
    everything = torch.randperm(self.vocab_size, generator=self.rng)
    return everything.narrow(0, 0, self.greenlist_size)


def _score_rejection_sampling(self, input_seq, scores):
    best = scores.detach().topk(40).indices
    green = torch.zeros(40, dtype=torch.bool)
    for place in range(40):
        continued = torch.cat((input_seq, best[place : place + 1]))
        green[place] = torch.isin(best[place], self._get_greenlist_ids(continued))
    return best[green]


def __call__(self, input_ids, scores):
    mask = torch.zeros_like(scores, dtype=torch.bool)
    if input_ids.shape[-1] >= self.context_width:
        for row in range(len(scores)):
            arguments = (input_ids[row],)
            find = self._get_greenlist_ids
            if self.seeding_scheme != "lefthash":
                arguments, find = (
                    (input_ids[row], scores[row]),
                    self._score_rejection_sampling,
                )
            mask[row, find(*arguments)] = True
    else:
        logger.warning(f"{input_ids.shape[-1]} tokens are fewer than {self.context_width}")
    return torch.where(mask, scores + self.bias, scores)
