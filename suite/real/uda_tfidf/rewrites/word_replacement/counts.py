"""Python's own numbers: counts first, gaps to the highest score afterwards, and a change log of its own."""

import math
from collections import Counter

import numpy as np
from nlpaug.util import Action, Doc


class TfIdf:
    @classmethod
    def _normalize(cls, data):
        scores = data.tolist()
        highest = max(scores)
        gaps = [highest - score for score in scores]
        whole = math.fsum(gaps)
        if not whole:
            return [0]
        return np.array([gap / whole for gap in gaps])

    def cal_tfidf(self, word_idxes, tokens, normalize=True):
        share = 1 / len(tokens) if tokens else 0.0
        scores = np.array([share * self.w2idf[tokens[place]] for place in word_idxes], dtype=np.float64)
        return self._normalize(scores) if normalize else scores

    def cal_idf(self, docs_tokens):
        counts = Counter(token for tokens in docs_tokens for token in tokens)
        return {token: math.log(len(docs_tokens) / count) for token, count in counts.items()}

    def train(self, data):
        self.w2idf = self.cal_idf(data)
        shares = {token: [] for token in self.w2idf}
        for tokens in data:
            for token, count in Counter(tokens).items():
                shares[token].append(count / len(tokens))
        scores = {token: math.fsum(found) * self.w2idf[token] for token, found in shares.items()}
        if self.normalize:
            scores = dict(zip(scores, self._normalize(np.array(list(scores.values()))).tolist(), strict=True))
        self.w2tfidf = scores
        self.tokens = list(scores)
        self.tfidf_scores = [scores[token] for token in self.tokens]

    def predict(self, data, top_k):
        return [self.tokens[place] for place in self.choice(self.tokens, self.tfidf_scores, top_k)]


class TfIdfAug:
    def skip_aug(self, token_idxes, tokens):
        known = self.model.w2idf
        return [place for place in token_idxes if tokens[place] in known]

    def substitute(self, data):
        if data is None or not data.strip():
            return data
        tokens = self.tokenizer(data)
        places = self._get_aug_idxes(list(tokens))
        if places is None:
            return data
        latest = list(tokens)
        for place in places:
            words = self.model.predict(tokens[place], self.top_k)
            (word,) = self.sample(words, 1)
            latest[place] = word if place else self.align_capitalization(tokens[0], word)
        text = self.reverse_tokenizer([token for token in latest if token])
        if not self.include_detail:
            return text
        starts, position = [], 0
        for token in latest:
            starts.append(position)
            position += len(token) + 1 if token else 0
        doc = Doc(data, tokens)
        changes = []
        for number, place in enumerate(places, start=self.parent_change_seq + 1):
            before = doc.get_token(place).orig_token
            changes.append(
                {
                    "orig_token": before.token,
                    "orig_start_pos": before.start_pos,
                    "new_token": latest[place],
                    "new_start_pos": starts[place],
                    "change_seq": number,
                    "action": Action.SUBSTITUTE,
                }
            )
        return text, changes
