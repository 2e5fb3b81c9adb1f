"""One document after the other, with plain floats and math.fsum."""

import math


def _calc_idf(self, nd):
    self.idf.update((word, math.log((self.corpus_size + 1) / (count + 0.5))) for word, count in nd.items())


def get_scores(self, query):
    def component(word, counts, length):
        count = counts.get(word, 0)
        shifted = count / (1 - self.b + self.b * length / self.avgdl) + self.delta
        return self.idf[word] * bool(count) * (shifted * (self.k1 + 1) / (shifted + self.k1))

    known = [word for word in query if word in self.idf]
    totals = [
        math.fsum(component(word, counts, length) for word in known)
        for counts, length in zip(self.doc_freqs, self.doc_len)
    ]
    return np.array(totals, dtype=np.float64)
