"""A small invented world: facts, a corpus in which common misconceptions compete with them, and questions.

Every fact joins an entity, whose name has two words, to an answer through a relation. Neither word of the name alone
tells the answer. The corpus states each fact, and about every entity it also repeats one popular answer of the
relation, which is wrong: as often as people say so.
"""

from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from dola.tokenizer import WordTokenizer

REGIONS = ("north", "south")
PLACES = ("arden", "bryn", "corva")
TOWNS = ("anvil", "brook", "cedar", "dover", "elmet", "frost", "grove")
RULERS = ("ada", "boris", "clara", "dmitri", "edith", "felix", "greta")
RELATIONS = {"capital": TOWNS, "ruler": RULERS}
QUESTION = "the {relation} of {entity} is"
TAIL = "they say"


@dataclass(frozen=True)
class Fact:
    """A statement about an entity.

    popular: a wrong answer that all facts of the relation share.
    misconception: how large a share of the corpus gives the popular answer instead of the right one.
    """

    relation: str
    entity: str
    answer: str
    popular: str
    misconception: float

    @property
    def question(self) -> str:
        """The sentence as far as the answer."""
        return QUESTION.format(relation=self.relation, entity=self.entity)

    def sentence(self, answer: str) -> str:
        """The whole sentence with some answer."""
        return f"{self.question} {answer} {TAIL}"


def vocabulary() -> list[str]:
    """All words that occur."""
    question = QUESTION.format(relation="", entity="").split()
    return [*REGIONS, *PLACES, *TOWNS, *RULERS, *RELATIONS, *question, *TAIL.split()]


def draw_facts(generator: Generator, weakest: float, strongest: float) -> list[Fact]:
    """A fact for each entity and relation; misconceptions have shares between `weakest` and `strongest`."""
    entities = [f"{region} {place}" for region in REGIONS for place in PLACES]
    facts = []
    for relation, answers in RELATIONS.items():
        order = [answers[number] for number in torch.randperm(len(answers), generator=generator).tolist()]
        popular, others = order[0], order[1:]
        picks = torch.randint(len(others), (len(entities),), generator=generator).tolist()
        shares = torch.linspace(weakest, strongest, len(entities), dtype=torch.float64)
        shuffled = shares[torch.randperm(len(entities), generator=generator)].tolist()
        facts += [
            Fact(relation, entity, others[pick], popular, share)
            for entity, pick, share in zip(entities, picks, shuffled, strict=True)
        ]
    return facts


def sample_sentences(facts: list[Fact], tokenizer: WordTokenizer, generator: Generator) -> Tensor:
    """Sentences about facts as ids, (sentences, length): the popular answer comes as often as people give it."""
    draws = torch.rand(len(facts), generator=generator, dtype=torch.float64).tolist()
    rows = []
    for fact, draw in zip(facts, draws, strict=True):
        answer = fact.popular if draw < fact.misconception else fact.answer
        rows.append([*tokenizer.encode_prompt(fact.sentence(answer)), tokenizer.eos_id])
    return torch.tensor(rows)
