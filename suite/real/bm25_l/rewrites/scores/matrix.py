"""A matrix of counts, words by documents, and a product with the weights of the query's words."""

from collections import Counter


def _calc_idf(self, nd):
    words = list(nd)
    weights = np.log((2 * self.corpus_size + 2.0) / (2 * np.array([nd[word] for word in words], dtype=float) + 1))
    self.idf = dict(zip(words, weights.tolist()))


def get_scores(self, query):
    asked = Counter(word for word in query if word in self.idf)
    if not asked:
        return np.zeros(self.corpus_size)
    counts = np.array([[freqs.get(word, 0) for freqs in self.doc_freqs] for word in asked], dtype=float)
    lengths = np.asarray(self.doc_len, dtype=float) / self.avgdl
    shifted = counts / ((1.0 - self.b) + self.b * lengths) + self.delta
    weights = np.array([self.idf[word] * times for word, times in asked.items()])
    return weights @ ((counts > 0) * (1 + self.k1) * (1 - self.k1 / (self.k1 + shifted)))
