"""From a knowledge base to probes: a tiny model is contradicted, and its activations tell which knowledge it used."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from src.classification.classifier import perform_classification_by_relation_group
from src.classification.probe import fit_probe
from src.classification.sampling import undersample
from src.config import LABELS, MODULES, NB_EXAMPLES_SHOWN, POSITIONS, Settings, activation_column
from src.data import (
    generate_counter_parametric_knowledge_dataset,
    remove_object_subject_overlap,
    return_entity_overlap_between_relation_groups,
)
from src.entities import canonical, jaro_winkler
from src.evaluation import probability_of_being_larger, success_rates
from src.knowledge_base import RELATIONS, build_knowledge_base, relations_with_gen_desc
from src.model import TinyModel
from src.parametric_knowledge import generate_parametric_knowledge_dataset, is_parametric_object_not_in_the_prompt
from src.prompt_model import prompt_model_and_store_activations
from src.prompts import PARAMETRIC_TEMPLATE, make_query, make_statement, parse_examples
from src.tokenizer import Tokenizer

Stage = dict[str, float]

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


def moments(name: str, values: Iterable[float]) -> Stage:
    """The mean, the mean square, and a mean whose weights grow with the place."""
    values = np.asarray(list(values), dtype=np.float64)
    places = np.linspace(0, 1, len(values))
    return {
        f"{name}/mean": float(values.mean()),
        f"{name}/square": float(np.square(values).mean()),
        f"{name}/by place": float((places * values).mean()),
    }


def letters(name: str) -> float:
    """The mean place of a name's letters in the alphabet."""
    return float(np.mean([ord(letter) - ord("a") + 1 for letter in name.lower() if letter.isalpha()]))


def described(knowledge_base: pd.DataFrame) -> Stage:
    """What the triplets are like: how firmly they are known, and how names are spelled."""
    metrics = moments("popularity", knowledge_base.popularity) | moments("strength", knowledge_base.strength)
    metrics["mean length of subjects"] = float(np.mean([len(name) for name in knowledge_base.subject]))
    metrics |= moments("letters of subjects", map(letters, knowledge_base.subject))
    return metrics | moments("letters of learned objects", map(letters, knowledge_base.learned_object))


def weights_and_recall(model: TinyModel, knowledge_base: pd.DataFrame) -> Stage:
    """The norms of all weights, and how likely the learned objects are after bare queries."""
    metrics = {"embedding": float(np.linalg.norm(model.embedding))}
    for number, layer in enumerate(model.layers, start=1):
        for part in ("value", "mlp_in", "mlp_out"):
            metrics[f"layer {number}/{part}"] = float(np.linalg.norm(getattr(layer, part)))
    metrics["biases"] = float(np.linalg.norm([layer.mlp_bias for layer in model.layers]))
    relation_texts = {relation.lemma: relation.text for relation in RELATIONS}
    recalled = []
    for fact in knowledge_base.itertuples():
        log_probas, _ = model.forward(model.tokenizer.encode(make_query(fact.subject, relation_texts[fact.rel_lemma])))
        recalled.append(log_probas[-1, model.tokenizer.encode(fact.learned_object)[0]])
    return metrics | moments("log-probability of learned objects", recalled)


def answered(parametric: pd.DataFrame) -> Stage:
    """How likely the model's answers are, and how similar subjects are to them."""
    firsts = zip(parametric.first_token_log_probas, parametric.parametric_object_token_ids, strict=True)
    log_probas = np.stack(list(parametric.first_token_log_probas))
    names = zip(parametric.statement_subject, parametric.parametric_object, strict=True)
    similarities = [jaro_winkler(*map(canonical, pair)) for pair in names]
    return (
        moments("log-probability of answers", [values[tokens[0]] for values, tokens in firsts])
        | moments("similarity of subject and answer", similarities)
        | {"entropy of answers": float(-(np.exp(log_probas) * log_probas).sum(axis=1).mean())}
    )


def overlaps(overlap: dict[str, dict[str, int]]) -> list[float]:
    """For each pair of different groups, the share of the first group's rows that name an entity of the second."""
    return [count / row[first] for first, row in overlap.items() for second, count in row.items() if first != second]


def contradicted(counter: pd.DataFrame) -> Stage:
    """How unlikely counter-knowledge is, and which objects it has."""
    return moments("log-probability of counter-knowledge", counter.counter_knowledge_log_proba) | moments(
        "letters of counter-knowledge", map(letters, counter.counter_knowledge_object)
    )


def sizes(results: pd.DataFrame) -> Stage:
    """The mean squares of the activations that are probed."""
    metrics: Stage = {}
    for module, position in _PROBED:
        activations = np.stack(list(results[activation_column(module, position)]))
        metrics[f"activations/{position}, {module}"] = float(np.square(activations).mean())
    return metrics


def fitted(results: pd.DataFrame, seed: int) -> Stage:
    """What probes are like that are fitted on balanced rows of all relation groups, on average over layers."""
    labelled = results[results.knowledge_source.isin(list(LABELS))]
    labels = np.array([LABELS[source] for source in labelled.knowledge_source])
    rows = undersample(np.arange(len(labels)), labels, np.random.default_rng(seed))
    metrics: Stage = {}
    for module, position in _PROBED:
        layers = np.stack(list(labelled[activation_column(module, position)]), axis=1)
        values = np.mean([_of_probe(inputs[rows], labels[rows]) for inputs in layers], axis=0)
        for name, value in zip(("loss", "weights", "bias"), values, strict=True):
            metrics[f"{position}, {module}/{name}"] = float(value)
    return metrics


def _of_probe(features: NDArray[np.float64], labels: NDArray[np.int64]) -> Sequence[float]:
    """The mean loss of a probe on what it was fitted on, the norm of its weights, and its bias."""
    probe = fit_probe(features, labels)
    logits = (features - probe.mean) / probe.scale @ probe.weights + probe.bias
    losses = np.logaddexp(0, np.where(labels == 1, -logits, logits))
    return float(losses.mean()), float(np.linalg.norm(probe.weights)), probe.bias


def run(seed: int = 0) -> dict[str, Stage]:
    """What each stage is like, from the knowledge base to the success rates of probes by position and module."""
    settings = replace(Settings(), seed=seed)
    relations = relations_with_gen_desc()
    rates: Stage = {}

    generator = np.random.default_rng(seed + 2**20)
    knowledge_base = build_knowledge_base(settings.nb_subjects, settings.strength, generator)
    stages = {"knowledge base": described(knowledge_base)}
    rates["triplets"] = len(knowledge_base)

    model = build_model(knowledge_base, settings)
    stages["model"] = weights_and_recall(model, knowledge_base)

    answers = generate_parametric_knowledge_dataset(knowledge_base, relations, model)
    stages["knowledge"] = answered(answers)
    rates["parametric knowledge"] = len(answers)
    parametric = remove_object_subject_overlap(answers, settings.string_similarity_ratio)
    stages["knowledge"] |= moments("popularity without subjects that tell", parametric.popularity)
    rates["without subjects that tell"] = len(parametric)
    unseen = [is_parametric_object_not_in_the_prompt(name, relations) for name in parametric.parametric_object]
    parametric = parametric[unseen]
    stages["knowledge"] |= moments("popularity without objects in prompts", parametric.popularity)
    rates["without objects in prompts"] = len(parametric)
    overlap = return_entity_overlap_between_relation_groups(parametric)
    stages["knowledge"] |= moments("overlap of groups", overlaps(overlap))
    counter = generate_counter_parametric_knowledge_dataset(parametric, settings.nb_counter_parametric_knowledge)
    stages["knowledge"] |= contradicted(counter)

    results = prompt_model_and_store_activations(counter, model)
    popularity = parametric.popularity.loc[results.parametric_knowledge_index].to_numpy()
    by_source = {source: popularity[results.knowledge_source == source] for source in LABELS}
    stages["answers"] = sizes(results)
    for source, known in by_source.items():
        stages["answers"][f"popularity of {source}"] = float(known.mean())
    for source, count in results.knowledge_source.value_counts().sort_index().items():
        rates[f"answers of source {source}"] = int(count)
    rates["subjects of PK are known better"] = probability_of_being_larger(by_source["PK"], by_source["CK"])

    stages["probes"] = fitted(results, seed + 2**21)

    stages["success rates"] = {}
    for module, position in _PROBED:
        included = [module == other for other in MODULES]
        probes = perform_classification_by_relation_group(results, *included, position=position, seed=settings.seed)
        found = success_rates(probes)
        for layer, (rate, margin) in found.items():
            rates[f"{position}, {module}, layer {layer}: success rate"] = rate
            rates[f"{position}, {module}, layer {layer}: margin"] = margin
        mean_rate, mean_margin = np.mean(list(found.values()), axis=0)
        stages["success rates"] |= {
            f"{position}, {module}/success rate": float(mean_rate),
            f"{position}, {module}/margin": float(mean_margin),
        }
    return {**stages, "rates": rates}


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
