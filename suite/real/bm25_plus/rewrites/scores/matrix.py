"""A matrix of counts, words by documents, and a product with the weights of the query's words."""

from collections import Counter


def _calc_idf(self, nd):
    words = list(nd)
    weights = np.log((self.corpus_size + 1.0) / np.array([nd[word] for word in words], dtype=float))
    self.idf = dict(zip(words, weights.tolist()))


def get_scores(self, query):
    asked = Counter(word for word in query if word in self.idf)
    if not asked:
        return np.zeros(self.corpus_size)
    counts = np.array([[freqs.get(word, 0) for freqs in self.doc_freqs] for word in asked], dtype=float)
    lengths = np.asarray(self.doc_len, dtype=float) / self.avgdl
    norm = self.k1 * ((1.0 - self.b) + self.b * lengths)
    weights = np.array([self.idf[word] * times for word, times in asked.items()])
    return weights @ (counts * (1 + self.k1) / (counts + norm) + self.delta * np.sign(counts))
