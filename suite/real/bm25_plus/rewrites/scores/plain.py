"""The paper's formula, word by word, with delta only where the word occurs."""


def _calc_idf(self, nd):
    self.idf = {word: math.log((self.corpus_size + 1) / count) for word, count in nd.items()}


def get_scores(self, query):
    norm = self.k1 * (1 - self.b + self.b * np.array(self.doc_len) / self.avgdl)
    scores = np.zeros(self.corpus_size)
    for word in query:
        if word in self.idf:
            counts = np.array([freqs.get(word, 0) for freqs in self.doc_freqs])
            scores += self.idf[word] * (counts > 0) * ((self.k1 + 1) * counts / (norm + counts) + self.delta)
    return scores
