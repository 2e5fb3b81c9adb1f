"""What delta adds to all documents first, then the rest for the documents that hold a word."""


def _calc_idf(self, nd):
    for word in nd:
        self.idf[word] = -math.log(nd[word] / (1 + self.corpus_size))


def get_scores(self, query):
    shift = self.delta * sum(self.idf.get(word, 0.0) for word in query)
    scores = np.full(self.corpus_size, shift, dtype=float)
    for place, (freqs, length) in enumerate(zip(self.doc_freqs, self.doc_len)):
        penalty = self.k1 - self.k1 * self.b * (1 - length / self.avgdl)
        for word in query:
            if word in freqs:
                # The saturated frequency, divided through by the count.
                scores[place] += self.idf[word] * (self.k1 + 1) / (1 + penalty / freqs[word])
    return scores
