"""Frequencies as fractions of whole numbers, scores in one pass over the vocabulary, changes by the log of a token."""

import math
from fractions import Fraction

import numpy as np
from nlpaug.util import Action, Doc


class TfIdf:
    @classmethod
    def _normalize(cls, data):
        order = np.sort(data)
        if order[0] == order[-1]:
            return [0.0]
        # The gaps to the highest, of which at least one is not 0.
        gaps = np.subtract(order[-1], data)
        return np.divide(gaps, math.fsum(gaps))

    def cal_tfidf(self, word_idxes, tokens, normalize=True):
        found = np.empty(len(word_idxes))
        for number, place in enumerate(word_idxes):
            found[number] = self.w2idf[tokens[place]] * (1 / len(tokens))
        if normalize:
            found = type(self)._normalize(found)
        return found

    def cal_idf(self, docs_tokens):
        occurrences = {}
        for token in (token for tokens in docs_tokens for token in tokens):
            occurrences[token] = occurrences.get(token, 0) + 1
        return {token: -math.log(count / len(docs_tokens)) for token, count in occurrences.items()}

    def train(self, data):
        idf, frequency = self.cal_idf(data), {}
        for tokens in data:
            for token in dict.fromkeys(tokens):
                frequency[token] = frequency.get(token, 0) + Fraction(tokens.count(token), len(tokens))
        tokens = list(frequency)
        scores = [float(frequency[token]) * idf[token] for token in tokens]
        if self.normalize:
            scores = self._normalize(np.array(scores)).tolist()
        self.w2idf, self.tokens, self.tfidf_scores = idf, tokens, scores
        self.w2tfidf = dict(zip(tokens, scores, strict=True))

    def predict(self, data, top_k):
        return list(map(self.tokens.__getitem__, self.choice(self.tokens, p=self.tfidf_scores, size=top_k)))


class TfIdfAug:
    def skip_aug(self, token_idxes, tokens):
        return list(filter(lambda place: tokens[place] in self.model.w2idf, token_idxes))

    def substitute(self, data):
        if not (data or "").strip():
            return data
        doc = Doc(data, self.tokenizer(data))
        places = self._get_aug_idxes(doc.get_original_tokens())
        if places is None:
            return data
        number = self.parent_change_seq
        for place in places:
            log = doc.tokens[place]
            word = self.sample(self.model.predict(data=log.orig_token.token, top_k=self.top_k), 1).pop()
            if place == 0:
                word = self.align_capitalization(log.orig_token.token, word)
            number += 1
            log.add(word, Action.SUBSTITUTE, number)
        result = self.reverse_tokenizer(doc.get_augmented_tokens())
        if self.include_detail:
            return result, doc.get_change_logs()
        return result
