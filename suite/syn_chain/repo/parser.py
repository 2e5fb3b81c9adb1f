"""A rule parser for the toy reviews, in the place of spaCy: tokens, tags, governors and relations.

The grammar knows clauses joined by conjunctions, noun phrases with adjectives, compounds, prepositional phrases and
relative clauses, copulas, linking verbs, transitive and intransitive verbs, and negation. The copula governs its
adjective, a conjunct hangs on the conjunct before it, and so does the conjunction that joins the two: all as in spaCy.
A word that no rule takes hangs on the root.
"""

import re

from lexicon import LINKING, look_up
from parses import SPACE, Parse, Token

_PIECE = re.compile(r"\s+|n't|\w+?(?=n't)|\w+|[^\w\s]")
_FINAL = (".", "!")
_NOMINAL = ("DET", "ADJ", "NOUN", "PROPN")


def parse(text: str) -> Parse:
    """The parse of a text of any number of sentences, each of which ends with a mark."""
    tokens = _tokenize(text)
    start = 0
    while start < len(tokens):
        ends = (place + 1 for place in range(start, len(tokens)) if tokens[place].text in _FINAL)
        end = next(ends, len(tokens))
        while end < len(tokens) and tokens[end].pos == SPACE:
            end += 1
        tokens[start].opens = True
        _SentenceParser(tokens, range(start, end)).run()
        start = end
    return Parse(tokens)


def _tokenize(text: str) -> list[Token]:
    """Words, marks and white space; each its own governor for the time being."""
    tokens: list[Token] = []
    for piece in _PIECE.findall(text):
        if piece.isspace():
            # The single space after a word belongs to it.
            if tokens and piece[0] == " ":
                tokens[-1].space, piece = True, piece[1:]
            if piece:
                tokens.append(Token(piece, piece, SPACE, "_SP", len(tokens), "dep", space=False))
        else:
            entry = look_up(piece)
            features = dict(entry.features)
            tokens.append(Token(piece, entry.lemma, entry.pos, entry.tag, len(tokens), "", features, space=False))
    return tokens


class _SentenceParser:
    """Recursive descent over the words of one sentence. Each rule returns the place of the head of what it read."""

    def __init__(self, tokens: list[Token], places: range) -> None:
        self.tokens, self.places = tokens, places
        self.words = [place for place in places if tokens[place].pos != SPACE]
        self.next = 0

    def run(self) -> None:
        if self.words:
            root = self.clause()
            while self.next < len(self.words):
                comma = self.take() if self.at(",") else None
                joining = self.take() if self.at("CCONJ") else None
                if joining is None or not self.clause_follows():
                    self.attach([place for place in (comma, joining) if place is not None], root, "punct")
                    if self.next < len(self.words):
                        place = self.take()
                        self.attach([place], root, "punct" if self.tokens[place].pos == "PUNCT" else "dep")
                    continue
                self.attach([comma] if comma is not None else [], root, "punct")
                self.attach([joining], root, "cc")
                other = self.clause()
                self.attach([other], root, "conj")
                root = other
            while self.tokens[root].head != root:
                root = self.tokens[root].head
            self.tokens[root].relation = "ROOT"
        last = self.words[0] if self.words else self.places[0]
        for place in self.places:
            if self.tokens[place].pos == SPACE:
                self.tokens[place].head = last
            else:
                last = place

    def clause(self) -> int:
        """A subject and what is said of it; "I think" takes a whole clause."""
        subject = self.noun_phrase(subject=True)
        predicate = self.predicate()
        if predicate is None:
            return subject
        self.attach([subject], predicate, "nsubj")
        return predicate

    def predicate(self) -> int | None:
        """A verb phrase, with those that are joined to it; None where there is no verb."""
        first = head = self.verb_phrase()
        while head is not None and self.at("CCONJ") and self.ahead(1) in ("AUX", "VERB", "PART"):
            joining = self.take()
            other = self.verb_phrase()
            self.attach([joining], head, "cc")
            self.attach([other], head, "conj")
            head = other
        return first

    def verb_phrase(self) -> int | None:
        before, auxiliaries = self.adverbs(), []
        while self.at("AUX") and self.word().lemma == "do":
            auxiliaries.append(self.take())
            before += self.adverbs()
        if not (self.at("AUX") or self.at("VERB")):
            self.next -= len(before) + len(auxiliaries)
            return None
        head = self.take()
        self.attach(auxiliaries, head, "aux")
        self.adverbial(before, head)
        lemma = self.tokens[head].lemma
        if lemma == "be" or lemma in LINKING:
            after = self.adverbs()
            if self.adjective_follows():
                degree = [place for place in after if self.tokens[place].lemma in ("very", "really")]
                after = [place for place in after if place not in degree]
                complement = self.adjectives()
                self.attach(degree, complement, "advmod")
                self.attach([complement], head, "oprd" if lemma == "seem" else "acomp")
            elif self.at(*_NOMINAL):
                self.attach([self.noun_phrase()], head, "attr")
            self.adverbial(after, head)
        elif lemma == "think":
            self.attach([self.clause()], head, "ccomp")
        else:
            if self.at(*_NOMINAL, "PRON"):
                self.attach([self.noun_phrase()], head, "dobj")
            self.adverbial(self.adverbs(), head)
            self.prepositional(head)
        return head

    def noun_phrase(self, subject: bool = False) -> int:
        """A noun with what belongs to it, and the noun phrases that are joined to it."""
        first = head = self.single_noun_phrase()
        while self.at("CCONJ") and self.ahead(1) in (*_NOMINAL, "PART") and (subject or not self.clause_follows(1)):
            joining = self.take()
            negations = self.adverbs()
            other = self.single_noun_phrase()
            self.attach([joining], head, "cc")
            self.attach([other], head, "conj")
            self.attach(negations, other, "neg")
            head = other
        return first

    def single_noun_phrase(self) -> int:
        determiners = [self.take()] if self.at("DET") else []
        modifiers = [self.adjectives()] if self.at("ADJ") else []
        nouns = [self.take()]
        while self.at("NOUN", "PROPN"):
            nouns.append(self.take())
        head = nouns.pop()
        self.attach(determiners, head, "det")
        self.attach(modifiers, head, "amod")
        self.attach(nouns, head, "compound")
        self.prepositional(head)
        if self.at("PRON") and self.word().tag == "WDT":
            relative = self.take()
            subject = self.take() if self.at("PRON") else None
            clause = self.predicate()
            if clause is None:
                self.attach([relative], head, "dep")
            else:
                self.attach([relative], clause, "nsubj" if subject is None else "dobj")
                self.attach([subject] if subject is not None else [], clause, "nsubj")
                self.attach([clause], head, "relcl")
        return head

    def prepositional(self, head: int) -> None:
        if self.at("ADP"):
            preposition = self.take()
            self.attach([self.single_noun_phrase()], preposition, "pobj")
            self.attach([preposition], head, "prep")

    def adjectives(self) -> int:
        """Adjectives that are joined to one another, by commas or conjunctions."""
        first = head = self.take()
        while self.at("CCONJ", ",") and self.adjective_follows(1):
            joining = self.take()
            adverbs = self.adverbs()
            other = self.take()
            self.attach([joining], head, "cc" if self.tokens[joining].pos == "CCONJ" else "punct")
            self.attach([other], head, "conj")
            self.adverbial(adverbs, other)
            head = other
        return first

    def adverbs(self) -> list[int]:
        places = []
        while self.at("ADV", "PART"):
            places.append(self.take())
        return places

    def adverbial(self, places: list[int], head: int) -> None:
        for place in places:
            negative = self.tokens[place].features.get("Polarity") == ("Neg",)
            self.attach([place], head, "neg" if negative else "advmod")

    def attach(self, places: list[int], head: int, relation: str) -> None:
        for place in places:
            self.tokens[place].head, self.tokens[place].relation = head, relation

    def adjective_follows(self, ahead: int = 0) -> bool:
        """Do adjectives follow, after adverbs, that do not belong to the subject of another clause?"""
        while self.ahead(ahead) in ("ADV", "PART"):
            ahead += 1
        return self.ahead(ahead) == "ADJ"

    def clause_follows(self, ahead: int = 0) -> bool:
        """Does a verb follow, after nominal words only?"""
        while self.ahead(ahead) in (*_NOMINAL, "ADP", "PRON"):
            ahead += 1
        return ahead > 0 and self.ahead(ahead) in ("AUX", "VERB")

    def at(self, *kinds: str) -> bool:
        return self.next < len(self.words) and (self.word().pos in kinds or self.word().text in kinds)

    def ahead(self, count: int) -> str:
        place = self.next + count
        return self.tokens[self.words[place]].pos if place < len(self.words) else ""

    def word(self) -> Token:
        return self.tokens[self.words[self.next]]

    def take(self) -> int:
        self.next += 1
        return self.words[self.next - 1]
