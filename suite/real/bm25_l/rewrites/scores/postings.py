"""Only documents that hold a word are visited, without the normalised count as a number of its own."""


def _calc_idf(self, nd):
    for word in nd:
        self.idf[word] = math.log1p(self.corpus_size) + math.log(2) - math.log(2 * nd[word] + 1)


def get_scores(self, query):
    scores = np.zeros(self.corpus_size, dtype=float)
    for place, (freqs, length) in enumerate(zip(self.doc_freqs, self.doc_len)):
        norm = 1 - self.b * (1 - length / self.avgdl)
        for word in query:
            if word in freqs:
                # Both sides of the fraction are multiplied by the length's factor.
                over = freqs[word] + self.delta * norm
                scores[place] += self.idf[word] * (self.k1 + 1) * over / (self.k1 * norm + over)
    return scores
