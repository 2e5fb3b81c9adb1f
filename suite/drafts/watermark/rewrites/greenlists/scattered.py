"""Additions by index, products by torch with the table looked up once, and a loop that stops by counting."""


def set_seed(self, input_seq):
    last = input_seq[-1]
    seed = self.hash_key * last.item()
    if self.seeding_scheme == "selfhash":
        own = 1 + self.fixed_table[last.remainder(self.table_size)]
        products = [
            self.hash_key * (1 + self.fixed_table[token.remainder(self.table_size)]) * own
            for token in input_seq[-self.context_width :]
        ]
        seed = torch.stack(products).sort().values[0].item()
    self.rng.manual_seed(seed % (2**64 - 1))


def _get_greenlist_ids(self, input_seq):
    self.set_seed(input_seq)
    return torch.split(
        torch.randperm(self.vocab_size, generator=self.rng),
        [self.greenlist_size, self.vocab_size - self.greenlist_size],
    )[0]


def _score_rejection_sampling(self, input_seq, scores):
    green = []
    for tried, token in enumerate(scores.argsort(descending=True)):
        if tried == 40:
            break
        if (self._get_greenlist_ids(torch.hstack([input_seq, token])) == token).any():
            green.append(token.reshape(1))
    return torch.cat(green) if green else torch.zeros(0, dtype=torch.long)


def __call__(self, input_ids, scores):
    if input_ids.shape[-1] < self.context_width:
        logger.warning("nothing is added")
        return scores + 0
    rows = []
    for sequence, row in zip(input_ids.unbind(), scores.unbind()):
        if self.seeding_scheme == "selfhash":
            green = self._score_rejection_sampling(sequence, row)
        else:
            green = self._get_greenlist_ids(sequence)
        rows.append(
            row.index_add(
                0,
                green.long(),
                torch.full((len(green),), float(self.bias), dtype=row.dtype),
            )
        )
    return torch.stack(rows)
