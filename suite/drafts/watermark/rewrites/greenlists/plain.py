"""Seeds in Python's integers, wrapped by hand, and sets of green tokens."""


def _wrapped(number):
    return (number + 2**63) % 2**64 - 2**63


def set_seed(self, input_seq):
    last = [int(token) for token in input_seq][-self.context_width :]
    if self.seeding_scheme == "selfhash":
        numbers = [int(self.fixed_table[token % self.table_size]) + 1 for token in last]
        seed = min(_wrapped(_wrapped(self.hash_key * number) * numbers[-1]) for number in numbers)
    else:
        seed = self.hash_key * last[-1]
    self.rng.manual_seed(seed % (2**64 - 1))


def _get_greenlist_ids(self, input_seq):
    self.set_seed(input_seq)
    return torch.randperm(self.vocab_size, generator=self.rng)[: self.greenlist_size]


def _score_rejection_sampling(self, input_seq, scores):
    order = sorted(range(len(scores)), key=scores.tolist().__getitem__, reverse=True)
    before = input_seq.tolist()
    green = []
    for token in order[:40]:
        if token in set(self._get_greenlist_ids(torch.tensor([*before, token])).tolist()):
            green.append(token)
    return torch.tensor(green, dtype=torch.long)


def __call__(self, input_ids, scores):
    if input_ids.shape[1] < self.context_width:
        logger.warning("too few tokens")
        return scores.clone()
    added = torch.zeros_like(scores)
    for row, sequence in enumerate(input_ids):
        if self.seeding_scheme == "selfhash":
            green = self._score_rejection_sampling(sequence, scores[row].detach())
        else:
            green = self._get_greenlist_ids(sequence)
        for token in green.tolist():
            added[row, token] = self.bias
    return scores + added
