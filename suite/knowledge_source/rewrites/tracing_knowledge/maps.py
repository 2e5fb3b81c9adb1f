"""Heaps, greatest similarities, counts by entity, layers first, and places counted from the end."""

import heapq
from itertools import islice

import numpy as np
import pandas as pd
from src.classification.probe import fit_probe
from src.classification.sampling import fold_generator, undersample
from src.config import LABELS, MODULES, NB_EXAMPLES_SHOWN, NOT_DEFINED, POSITIONS, activation_column
from src.context_knowledge import COUNTER_COLUMNS, objects_of_relations, objects_to_first_token_id
from src.entities import canonical, jaro_winkler, row_entities, surface_forms
from src.prompts import build_prompt_for_knowledge_probing, parse_examples


def is_parametric_object_not_in_the_prompt(
    parametric_object, relations_with_gen_desc, nb_examples_shown=NB_EXAMPLES_SHOWN
):
    def shows(row):
        examples = parse_examples(row["generation_examples"]) if isinstance(row["generation_examples"], str) else []
        names = [(example.subject, *example.objects) for example in islice(examples, nb_examples_shown)]
        return canonical(parametric_object) in {canonical(name) for group in names for name in group}

    return not any(map(shows, relations_with_gen_desc.to_dict("records")))


def remove_object_subject_overlap(parametric_knowledge_dataset, string_similarity_ratio=0.8):
    def alike(one, other):
        shorter, longer = sorted((one, other), key=len)
        return 2.0 if longer.find(shorter) >= 0 else jaro_winkler(other, one)

    scores = np.full(len(parametric_knowledge_dataset), -1.0)
    columns = (parametric_knowledge_dataset.statement_subject, parametric_knowledge_dataset.parametric_object)
    for place, names in enumerate(zip(*columns)):
        first, second = map(surface_forms, names)
        scores[place] = max(alike(one, other) for one in first for other in second)
    return parametric_knowledge_dataset.loc[scores < string_similarity_ratio].copy()


def generate_counter_parametric_knowledge_dataset(parametric_knowledge, nb_counter_parametric_knowledge):
    tokens = objects_to_first_token_id(parametric_knowledge)
    of_relations = objects_of_relations(parametric_knowledge)
    rows = []
    for record, index in zip(parametric_knowledge.to_dict("records"), parametric_knowledge.index):
        candidates = []
        for place, (key, written) in enumerate(of_relations[record["rel_lemma"]].items()):
            begins_alike = tokens[key] == record["parametric_object_token_ids"][0]
            if not begins_alike and key != canonical(record["parametric_object"]):
                candidates.append((float(record["first_token_log_probas"][tokens[key]]), place, written))
        for rank, (value, _, written) in enumerate(heapq.nsmallest(nb_counter_parametric_knowledge, candidates), 1):
            added = {
                "parametric_knowledge_index": index,
                "counter_knowledge_object": written,
                "counter_knowledge_rank": rank,
                "counter_knowledge_log_proba": value,
            }
            rows.append([{**record, **added}[column] for column in COUNTER_COLUMNS])
    return pd.DataFrame(rows, columns=COUNTER_COLUMNS)


def return_entity_overlap_between_relation_groups(parametric_knowledge_dataset):
    entities = row_entities(parametric_knowledge_dataset[["statement_subject", "parametric_object"]])
    groups = list(parametric_knowledge_dataset.relation_group_id)
    kept = [place for place, group in enumerate(groups) if isinstance(group, str)]
    order = list(dict.fromkeys(groups[place] for place in kept))
    names = {name: number for number, name in enumerate(sorted(set().union(*entities)))}
    rows = np.zeros((len(kept), len(names)), dtype=np.int64)
    members = np.zeros((len(order), len(kept)), dtype=np.int64)
    for number, place in enumerate(kept):
        rows[number, [names[name] for name in entities[place]]] = 1
        members[order.index(groups[place]), number] = 1
    touching = (rows @ (members @ rows).T > 0).astype(np.int64)
    counts = members @ touching
    return {
        first: {second: int(counts[one, other]) for other, second in enumerate(order)}
        for one, first in enumerate(order)
    }


def perform_classification_by_relation_group(
    prompting_results, include_mlps, include_mlps_l1, include_mhsa, position, seed=0
):
    modules = [m for m, use in zip(MODULES, (include_mlps, include_mlps_l1, include_mhsa)) if use]
    if position not in POSITIONS or modules == []:
        raise ValueError((modules, position))
    mask = np.array([source in LABELS for source in prompting_results.knowledge_source], dtype=bool)
    results = prompting_results[mask]
    if not len(results):
        return []
    labels = results.knowledge_source.map(LABELS).to_numpy(dtype=np.int64)
    groups, entities = list(results.relation_group_id), row_entities(results)
    codes = {}
    for group in groups:
        codes.setdefault(group, len(codes))
    code = np.array([codes[group] for group in groups])
    folds = []
    for group, fold in codes.items():
        named = frozenset(name for place in np.flatnonzero(code == fold) for name in entities[place])
        candidates = [place for place in range(len(groups)) if code[place] != fold and not entities[place] & named]
        drawn = fold_generator(seed, fold)
        train = undersample(np.asarray(candidates, dtype=np.int64), labels, drawn)
        test = undersample(np.flatnonzero(code == fold), labels, drawn)
        if len(train) and len(test):
            folds.append((fold, group, train, test))
    metrics = []
    layers = len(results[activation_column(modules[0], position)].iloc[0])
    for layer in range(layers):
        per_module = [np.array([cell[layer] for cell in results[activation_column(m, position)]]) for m in modules]
        inputs = np.concatenate(per_module, axis=1)
        for fold, group, train, test in folds:
            predicted = fit_probe(inputs[train], labels[train]).predict(inputs[test])
            rate = 1 - np.abs(predicted - labels[test]).mean()
            metrics.append((fold, layer + 1, group, float(rate), len(test), len(train)))
    names = ("layer", "relation_group_id", "success_rate", "nb_test_examples", "nb_train_examples")
    return [dict(zip(names, item[1:])) for item in sorted(metrics, key=lambda item: item[:2])]


def token_places(subject, relation_text, counter_knowledge_object, tokenizer):
    sizes = [len(tokenizer.encode(part)) for part in (subject, relation_text, counter_knowledge_object)]
    last = 2 * sizes[0] + 2 * sizes[1] + sizes[2]
    places = (0, last - sizes[0] - sizes[1] - 1, last - sizes[1], last)
    return dict(zip(POSITIONS, places, strict=True))


def knowledge_source(output, parametric_object, counter_knowledge_object):
    forms = set(surface_forms(output))
    if not forms.isdisjoint(surface_forms(counter_knowledge_object)):
        return "CK"
    return NOT_DEFINED if forms.isdisjoint(surface_forms(parametric_object)) else "PK"


def prompt_model_and_store_activations(counter_parametric_knowledge, model):
    def answered(record):
        text = record["statement_subject"], record["relation_text"], record["counter_knowledge_object"]
        token_ids, _, layers = model.generate(build_prompt_for_knowledge_probing(*text))
        output = clean_output(model.tokenizer.decode(token_ids))
        found = {
            "model_output": output,
            "knowledge_source": knowledge_source(output, record["parametric_object"], text[2]),
        }
        cubes = {module: np.stack([of_layer[module] for of_layer in layers]) for module in MODULES}
        for position, place in token_places(*text, model.tokenizer).items():
            found |= {activation_column(module, position): cubes[module][:, place] for module in MODULES}
        return {**record, **found}

    records = list(map(answered, counter_parametric_knowledge.to_dict("records")))
    return pd.DataFrame.from_records(records, index=counter_parametric_knowledge.index)


def success_rates(metrics):
    rows = np.array([(item["layer"], item["nb_test_examples"], item["success_rate"]) for item in metrics])
    found = {}
    for layer in dict.fromkeys(rows[:, 0].astype(int).tolist()):
        _, sizes, shares = rows[rows[:, 0] == layer].T
        errors = np.sqrt(shares * (1 - shares) / sizes)
        rate = np.average(shares, weights=sizes)
        found[layer] = (rate.item(), _Z_SCORE * float(np.linalg.norm(sizes / sizes.sum() * errors)))
    return found
