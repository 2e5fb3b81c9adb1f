"""Arrays throughout: words as numbers, counted by numpy, and all words drawn before any is put in."""

import numpy as np
from nlpaug.util import Action, Doc


def _numbered(documents):
    """A number for each word, in the order of first appearance, and the numbers and document sizes of all tokens."""
    number = {}
    for tokens in documents:
        for token in tokens:
            number.setdefault(token, len(number))
    flat = np.array([number[token] for tokens in documents for token in tokens], dtype=np.int64)
    sizes = np.array([len(tokens) for tokens in documents for _ in tokens], dtype=np.float64)
    return list(number), flat, sizes


class TfIdf:
    @classmethod
    def _normalize(cls, data):
        gaps = np.max(data) - data
        if np.all(gaps == 0):
            return np.zeros(1)
        return gaps / np.sum(gaps)

    def cal_tfidf(self, word_idxes, tokens, normalize=True):
        idfs = np.array([self.w2idf[tokens[place]] for place in word_idxes], dtype=np.float64)
        scores = idfs / max(len(tokens), 1)
        if not normalize:
            return scores
        return self._normalize(scores)

    def cal_idf(self, docs_tokens):
        words, flat, _ = _numbered(docs_tokens)
        if not words:
            return {}
        idfs = np.log(len(docs_tokens)) - np.log(np.bincount(flat, minlength=len(words)))
        return dict(zip(words, idfs.tolist(), strict=True))

    def train(self, data):
        words, flat, sizes = _numbered(data)
        idf = self.cal_idf(data)
        scores = np.bincount(flat, weights=1 / sizes, minlength=len(words)) * np.array([idf[word] for word in words])
        if self.normalize:
            scores = self._normalize(scores)
        self.w2idf = idf
        self.tokens, self.tfidf_scores = words, list(scores)
        self.w2tfidf = dict(zip(words, scores, strict=True))

    def predict(self, data, top_k):
        places = self.choice(x=self.tokens, p=self.tfidf_scores, size=top_k)
        return np.array(self.tokens, dtype=object)[places].tolist()


class TfIdfAug:
    def skip_aug(self, token_idxes, tokens):
        known = np.array([tokens[place] in self.model.w2idf for place in token_idxes], dtype=bool)
        return np.array(token_idxes, dtype=np.int64)[known].tolist()

    def substitute(self, data):
        if not data or data.isspace():
            return data
        doc = Doc(doc=data, tokens=self.tokenizer(data))
        places = self._get_aug_idxes(doc.get_original_tokens())
        if places is None:
            return data
        words = [
            self.sample(self.model.predict(doc.get_token(place).orig_token.token, top_k=self.top_k), num=1)[0]
            for place in places
        ]
        for offset, (place, word) in enumerate(zip(places, words, strict=True)):
            if place == 0:
                word = self.align_capitalization(doc.get_original_tokens()[0], word)
            doc.add_change_log(place, word, Action.SUBSTITUTE, self.parent_change_seq + offset + 1)
        text = self.reverse_tokenizer(doc.get_augmented_tokens())
        return (text, doc.get_change_logs()) if self.include_detail else text
