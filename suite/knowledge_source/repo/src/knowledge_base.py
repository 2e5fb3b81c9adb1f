"""A small knowledge base in the form of ParaRel: subjects with invented names, and relations with their objects."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

_SYLLABLES = (
    "ba",
    "cor",
    "del",
    "fen",
    "gri",
    "hal",
    "jun",
    "kor",
    "lum",
    "mer",
    "nov",
    "pol",
    "rus",
    "sil",
    "tam",
    "vor",
)
# How often a subject is one of another triplet, or tells its object, and how often a model has learned a mistake.
_SHARED = 0.12
_TELLING = 0.08
_MISTAKEN = 0.1


@dataclass(frozen=True)
class Relation:
    """A relation. text: what stands between subject and object. kind: the first word of its subjects, if any.

    examples: for the prompts that ask the model, in the form that `prompts.parse_examples` reads.
    """

    lemma: str
    group: str
    text: str
    kind: str
    description: str
    objects: tuple[str, ...]
    examples: str | None


_COUNTRIES = ("USA", "Great Britain", "Holland", "Norway", "Japan", "Brazil", "Kenya", "Czech Republic")
_CITIES = ("Lisbon", "Oslo", "Cairo", "Quito", "Hanoi", "Turin", "Dakar")
_COMPANIES = ("Acme", "Borealis Works", "Cygnus", "Dynatek", "Everlane", "Fabrikam")
_CHANNELS = ("Channel One", "Polaris", "Zenith", "Metro Vision", "Arte")
_RELIGIONS = ("Christianity", "Islam", "Buddhism", "Hinduism", "Shinto")
_POSITIONS = ("Goalkeeper", "Striker", "Winger", "Sweeper", "Libero")
_INSTRUMENTS = ("Cello", "Violin", "Trumpet", "Oboe", "Harp", "Piano")
_GEOGRAPHY, _CORPORATE = "geographic-geopolitic-language", "corporate-products-employment"

RELATIONS = (
    Relation(
        "located-in",
        _GEOGRAPHY,
        "is located in",
        "Museum",
        "the name of the city where the subject is located",
        _CITIES,
        "Louvre | Paris / the city of Paris; Prado | Madrid",
    ),
    Relation(
        "is-citizen-of",
        _GEOGRAPHY,
        "is a citizen of",
        "",
        "the name of the country of citizenship of the subject",
        _COUNTRIES,
        "Mozart | Austria; Curie | Poland",
    ),
    Relation(
        "product-manufacture-by",
        _CORPORATE,
        "is a product manufactured by",
        "",
        "the name of the company that makes the subject",
        _COMPANIES,
        "Walkman | Sony; Corolla | Toyota",
    ),
    Relation(
        "owned-by",
        _CORPORATE,
        "is owned by",
        "Brand",
        "the name of the company that owns the subject",
        _COMPANIES,
        "# a note: the owner may change; Instagram | Meta / Facebook",
    ),
    Relation(
        "debut-on",
        "media",
        "premiered on",
        "Show",
        "the name of the channel on which the subject premiered",
        _CHANNELS,
        "Casualty | BBC; Frasier | NBC",
    ),
    Relation(
        "official-religion",
        "religion",
        "has the official religion",
        "",
        "the name of the religion of the subject",
        _RELIGIONS,
        "Israel | Judaism",
    ),
    Relation(
        "play-in-position",
        "occupy-position",
        "plays in the position of",
        "",
        "the name of the position of the subject",
        _POSITIONS,
        "Beckenbauer | Libero; Zoff | Goalie",
    ),
    Relation(
        "play-the",
        "play-instrument",
        "plays the",
        "",
        "the name of the instrument of the subject",
        _INSTRUMENTS,
        None,
    ),
)


def relations_with_gen_desc() -> pd.DataFrame:
    """One row a relation: its group, what the model is told of its objects, and its examples (None without any)."""
    return pd.DataFrame(
        {
            "relation": [relation.lemma for relation in RELATIONS],
            "relation_group_id": [relation.group for relation in RELATIONS],
            "relation_text": [relation.text for relation in RELATIONS],
            "object_generation_description": [relation.description for relation in RELATIONS],
            "generation_examples": [relation.examples for relation in RELATIONS],
        }
    )


def build_knowledge_base(
    nb_subjects: int, strength: tuple[float, float], generator: np.random.Generator
) -> pd.DataFrame:
    """Triplets, `nb_subjects` for each relation, with what a model has learned of each.

    learned_object: what it holds for true, which need not be the object of the knowledge base. strength: how firmly.
    popularity: how well it knows the subject. Some subjects occur in two relations, and some tell their object.
    """
    names = _names(generator, nb_subjects * len(RELATIONS))
    records = []
    for relation in RELATIONS:
        for number in range(nb_subjects):
            target = relation.objects[number % len(relation.objects)]
            subject = f"{relation.kind} {next(names)}".strip()
            if records and generator.random() < _SHARED:
                subject = str(generator.choice([record["subject"] for record in records]))
            elif generator.random() < _TELLING:
                subject = f"{relation.kind or 'Little'} {target}"
            mistaken = generator.random() < _MISTAKEN
            learned = str(generator.choice(relation.objects)) if mistaken else target
            popularity = generator.uniform(*strength)
            records.append(
                {
                    "subject": subject,
                    "rel_lemma": relation.lemma,
                    "object": target,
                    "learned_object": learned,
                    "popularity": popularity,
                    "strength": popularity + generator.normal(0, 0.08),
                }
            )
    return pd.DataFrame(records).drop_duplicates(["subject", "rel_lemma"], ignore_index=True)


def _names(generator: np.random.Generator, count: int) -> Iterator[str]:
    """Invented names, all different."""
    names: dict[str, None] = {}
    while len(names) < count:
        names["".join(generator.choice(_SYLLABLES, 3)).capitalize()] = None
    return iter(names)
