"""Synthetic documents with chains of causes, their event pairs, and batches of documents of different length.

Events stand between connectives: "so" says that the event on its left causes the one on its right, "since" the
reverse, all others say nothing. Causation is transitive: a run of one connective relates the events at its ends too.
"""

from dataclasses import dataclass
from itertools import combinations

import torch
from torch import Generator, Tensor

# Classes of an event pair, in the order of the text.
NO_RELATION, CAUSES, CAUSED_BY = 0, 1, 2
# The label of a pair that only fills up a batch.
IGNORED = -100

PAD = 0
SPECIAL = ("[PAD]", "[CLS]", "[SEP]", "<t>", "</t>")
FORWARD, BACKWARD, NEUTRAL = "so", "since", ("then", "while", "and", "near")
EVENTS = ("quake", "fire", "outage", "break", "strike", "arrest", "flood", "delay", "crash", "protest", "leak", "riot")
FILLERS = ("the", "town", "police", "late", "again", "reported", "local", "two")
WORDS = (*SPECIAL, FORWARD, BACKWARD, *NEUTRAL, *EVENTS, *FILLERS)
TOKENS = {word: token for token, word in enumerate(WORDS)}


@dataclass(frozen=True)
class Document:
    """Tokens, positions of the events' opening markers, and the class of every pair of events (first < second)."""

    tokens: list[int]
    markers: list[int]
    relations: dict[tuple[int, int], int]


@dataclass(frozen=True)
class Batch:
    """Documents of up to L tokens, E events and N event pairs, padded on the right."""

    tokens: Tensor  # (batch, L)
    markers: Tensor  # (batch, E), positions in the document
    pairs: Tensor  # (batch, N, 2), indices of events
    real: Tensor  # (batch, N), False where a pair is padding
    labels: Tensor  # (batch, N), IGNORED where a pair is padding


def make_documents(count: int, generator: Generator, directed: bool = True, causal: float = 0.35) -> list[Document]:
    """Draw documents of three to six events; a connective is causal with the given probability.

    Undirected documents know two classes only, NO_RELATION and CAUSES.
    """

    def draw(words: tuple[str, ...]) -> str:
        return words[int(torch.randint(len(words), (), generator=generator))]

    documents = []
    for _ in range(count):
        connectives = []
        for _ in range(int(torch.randint(2, 6, (), generator=generator))):
            is_causal = torch.rand((), generator=generator) < causal
            connectives.append(draw((FORWARD, BACKWARD)) if is_causal else draw(NEUTRAL))
        words, markers = ["[CLS]"], []
        for connective in (*connectives, None):
            words.append(draw(FILLERS))
            markers.append(len(words))
            words += ["<t>", draw(EVENTS), "</t>"]
            if connective is not None:
                words.append(connective)
        words.append("[SEP]")
        relations = {
            (first, second): _relation(connectives[first:second], directed)
            for first, second in combinations(range(len(markers)), 2)
        }
        documents.append(Document([TOKENS[word] for word in words], markers, relations))
    return documents


def _relation(connectives: list[str], directed: bool) -> int:
    """The class of two events from the connectives between them."""
    kinds = set(connectives)
    if kinds == {FORWARD}:
        return CAUSES
    if kinds == {BACKWARD}:
        return CAUSED_BY if directed else CAUSES
    return NO_RELATION


def collate(documents: list[Document]) -> Batch:
    """Pad documents to the longest of them."""
    length = max(len(document.tokens) for document in documents)
    events = max(len(document.markers) for document in documents)
    nodes = max(len(document.relations) for document in documents)
    tokens = torch.full((len(documents), length), PAD)
    markers = torch.zeros(len(documents), events, dtype=torch.long)
    pairs = torch.zeros(len(documents), nodes, 2, dtype=torch.long)
    labels = torch.full((len(documents), nodes), IGNORED)
    for row, document in enumerate(documents):
        tokens[row, : len(document.tokens)] = torch.tensor(document.tokens)
        markers[row, : len(document.markers)] = torch.tensor(document.markers)
        pairs[row, : len(document.relations)] = torch.tensor(list(document.relations))
        labels[row, : len(document.relations)] = torch.tensor(list(document.relations.values()))
    return Batch(tokens, markers, pairs, labels != IGNORED, labels)
