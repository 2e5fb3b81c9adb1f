"""From a knowledge base to probes: a tiny model is contradicted, and its activations tell which knowledge it used."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd

from src.classification.classifier import perform_classification_by_relation_group
from src.config import MODULES, NB_EXAMPLES_SHOWN, POSITIONS, Settings
from src.data import (
    generate_counter_parametric_knowledge_dataset,
    remove_object_subject_overlap,
    return_entity_overlap_between_relation_groups,
)
from src.evaluation import probability_of_being_larger, success_rates
from src.knowledge_base import RELATIONS, build_knowledge_base, relations_with_gen_desc
from src.model import TinyModel
from src.parametric_knowledge import generate_parametric_knowledge_dataset, is_parametric_object_not_in_the_prompt
from src.prompt_model import prompt_model_and_store_activations
from src.prompts import PARAMETRIC_TEMPLATE, make_statement, parse_examples
from src.tokenizer import Tokenizer

# All positions are probed with the first of the modules, and the last position with each of them.
_PROBED = [(MODULES[0], position) for position in POSITIONS] + [(module, POSITIONS[-1]) for module in MODULES[1:]]


def build_model(knowledge_base: pd.DataFrame, settings: Settings) -> TinyModel:
    """A model that has learned the knowledge base, with a tokenizer for everything that it will be asked."""
    texts = [PARAMETRIC_TEMPLATE, "Here is an example :"]
    example_names: set[str] = set()
    for relation in RELATIONS:
        texts.append(relation.description)
        for example in parse_examples(relation.examples or "")[:NB_EXAMPLES_SHOWN]:
            texts.append(make_statement(example.subject, relation.text, example.objects[0]))
            example_names |= {example.subject, example.objects[0]}
        texts.extend(relation.objects)
    relation_texts = {relation.lemma: relation.text for relation in RELATIONS}
    texts.extend(f"{fact.subject} {relation_texts[fact.rel_lemma]}" for fact in knowledge_base.itertuples())
    return TinyModel(knowledge_base, relation_texts, example_names, Tokenizer(texts), settings)


def off_diagonal(overlap: dict[str, dict[str, int]]) -> int:
    """How many rows name an entity of another group, added up over the pairs of groups."""
    return sum(count for first, row in overlap.items() for second, count in row.items() if first != second)


def run(seed: int = 0) -> dict[str, float]:
    """What each step leaves, which sources the answers have, and the success rates of probes by position and layer."""
    settings = replace(Settings(), seed=seed)
    relations = relations_with_gen_desc()
    generator = np.random.default_rng(settings.seed)
    knowledge_base = build_knowledge_base(settings.nb_subjects, settings.strength, generator)
    model = build_model(knowledge_base, settings)
    parametric = generate_parametric_knowledge_dataset(knowledge_base, relations, model)
    metrics: dict[str, float] = {"triplets": len(knowledge_base), "parametric knowledge": len(parametric)}
    parametric = remove_object_subject_overlap(parametric, settings.string_similarity_ratio)
    metrics["without subjects that tell"] = len(parametric)
    unseen = [is_parametric_object_not_in_the_prompt(name, relations) for name in parametric.parametric_object]
    parametric = parametric[unseen]
    metrics["without objects in prompts"] = len(parametric)
    metrics["overlap between groups"] = off_diagonal(return_entity_overlap_between_relation_groups(parametric))
    counter = generate_counter_parametric_knowledge_dataset(parametric, settings.nb_counter_parametric_knowledge)
    results = prompt_model_and_store_activations(counter, model)
    for source, count in results.knowledge_source.value_counts().sort_index().items():
        metrics[f"answers of source {source}"] = int(count)
    popularity = parametric.popularity.loc[results.parametric_knowledge_index].to_numpy()
    by_source = [popularity[results.knowledge_source == source] for source in ("PK", "CK")]
    metrics["subjects of PK are known better"] = probability_of_being_larger(*by_source)
    for module, position in _PROBED:
        included = [module == other for other in MODULES]
        probes = perform_classification_by_relation_group(results, *included, position=position, seed=settings.seed)
        for layer, (rate, margin) in success_rates(probes).items():
            metrics[f"{position}, {module}, layer {layer}: success rate"] = rate
            metrics[f"{position}, {module}, layer {layer}: margin"] = margin
    return metrics


if __name__ == "__main__":
    print(json.dumps(run()))
