"""A stand-in for Porter's stemmer, which takes three endings off and knows no exceptions."""


class PorterStemmer:
    def stem(self, word):
        for ending in ("ing", "ed", "s"):
            if word.endswith(ending):
                return word[: -len(ending)]
        return word
