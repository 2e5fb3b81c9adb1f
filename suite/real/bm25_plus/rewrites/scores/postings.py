"""Only documents that hold a word are visited."""


def _calc_idf(self, nd):
    for word in nd:
        self.idf[word] = -math.log(nd[word] / (1 + self.corpus_size))


def get_scores(self, query):
    scores = np.zeros(self.corpus_size, dtype=float)
    for place, (freqs, length) in enumerate(zip(self.doc_freqs, self.doc_len)):
        penalty = self.k1 - self.k1 * self.b * (1 - length / self.avgdl)
        for word in query:
            if word in freqs:
                # The saturated frequency, divided through by the count.
                scores[place] += self.idf[word] * ((self.k1 + 1) / (1 + penalty / freqs[word]) + self.delta)
    return scores
