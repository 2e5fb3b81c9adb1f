"""One document after the other, with plain floats and math.fsum."""

import math


def _calc_idf(self, nd):
    self.idf.update((word, math.log1p(self.corpus_size) - math.log(count)) for word, count in nd.items())


def get_scores(self, query):
    def component(word, counts, length):
        count = counts[word]
        norm = 1 - self.b + self.b * length / self.avgdl
        return self.idf[word] * (self.delta + count / (count + self.k1 * norm) * (self.k1 + 1))

    totals = [
        math.fsum(component(word, counts, length) for word in query if word in counts)
        for counts, length in zip(self.doc_freqs, self.doc_len)
    ]
    return np.array(totals, dtype=np.float64)
