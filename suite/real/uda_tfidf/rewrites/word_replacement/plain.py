"""The shortest code by the summary: dicts and lists, and one place after the other."""

import math
from collections import Counter

import numpy as np
from nlpaug.util import Action, Doc


class TfIdf:
    @classmethod
    def _normalize(cls, data):
        return (data.max() - data) / (data.max() - data).sum()

    def cal_tfidf(self, word_idxes, tokens, normalize=True):
        scores = np.array([self.w2idf[tokens[place]] / len(tokens) for place in word_idxes])
        return self._normalize(scores) if normalize else scores

    def cal_idf(self, docs_tokens):
        counts = Counter(token for tokens in docs_tokens for token in dict.fromkeys(tokens))
        return {token: math.log(len(docs_tokens) / count) for token, count in counts.items()}

    def train(self, data):
        self.w2idf = self.cal_idf(data)
        for tokens in data:
            for token in tokens:
                self.w2tfidf[token] = self.w2tfidf.get(token, 0) + self.w2idf[token] / len(tokens)
        if self.normalize:
            self.w2tfidf = dict(zip(self.w2tfidf, self._normalize(np.array(list(self.w2tfidf.values())))))
        self.tokens = list(self.w2tfidf)
        self.tfidf_scores = list(self.w2tfidf.values())

    def predict(self, data, top_k):
        return [self.tokens[place] for place in self.choice(self.tokens, self.tfidf_scores, top_k)]


class TfIdfAug:
    def skip_aug(self, token_idxes, tokens):
        return [place for place in token_idxes if tokens[place] in self.model.w2idf]

    def substitute(self, data):
        doc = Doc(data, self.tokenizer(data))
        for number, place in enumerate(self._get_aug_idxes(doc.get_original_tokens())):
            token = doc.get_token(place).orig_token.token
            word = self.sample(self.model.predict(token, self.top_k), 1)[0]
            if place == 0:
                word = self.align_capitalization(token, word)
            doc.add_change_log(place, word, Action.SUBSTITUTE, self.parent_change_seq + number + 1)
        text = self.reverse_tokenizer(doc.get_augmented_tokens())
        return (text, doc.get_change_logs()) if self.include_detail else text
