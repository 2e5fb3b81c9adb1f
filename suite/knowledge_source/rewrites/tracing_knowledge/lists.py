"""Plain loops, tokens of whole prompts, the model run once more for its activations."""

from collections import defaultdict
from itertools import product

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
    wanted = canonical(parametric_object)
    for text in relations_with_gen_desc["generation_examples"].dropna():
        for number, example in enumerate(parse_examples(text)):
            if number >= nb_examples_shown:
                break
            if wanted == canonical(example.subject):
                return False
            for name in example.objects:
                if wanted == canonical(name):
                    return False
    return True


def remove_object_subject_overlap(parametric_knowledge_dataset, string_similarity_ratio=0.8):
    subjects = parametric_knowledge_dataset["statement_subject"].tolist()
    objects = parametric_knowledge_dataset["parametric_object"].tolist()
    places = []
    for place, (subject, answer) in enumerate(zip(subjects, objects)):
        overlap = False
        for one, other in product(surface_forms(subject), surface_forms(answer)):
            if one in other or other in one or not jaro_winkler(one, other) < string_similarity_ratio:
                overlap = True
                break
        if not overlap:
            places.append(place)
    return parametric_knowledge_dataset.iloc[places]


def generate_counter_parametric_knowledge_dataset(parametric_knowledge, nb_counter_parametric_knowledge):
    objects = objects_of_relations(parametric_knowledge)
    first_tokens = objects_to_first_token_id(parametric_knowledge)
    table = {column: [] for column in COUNTER_COLUMNS}
    for place in range(len(parametric_knowledge)):
        row = parametric_knowledge.iloc[place]
        names = list(objects[row["rel_lemma"]])
        tokens = np.array([first_tokens[name] for name in names])
        values = row["first_token_log_probas"][tokens]
        order = np.argsort(values, kind="stable")
        rank = 0
        for number in order:
            if names[number] == canonical(row["parametric_object"]):
                continue
            if tokens[number] == row["parametric_object_token_ids"][0]:
                continue
            rank += 1
            if rank > nb_counter_parametric_knowledge:
                break
            table["parametric_knowledge_index"].append(parametric_knowledge.index[place])
            for column in ("statement_subject", "rel_lemma", "relation_group_id", "relation_text", "parametric_object"):
                table[column].append(row[column])
            table["counter_knowledge_object"].append(objects[row["rel_lemma"]][names[number]])
            table["counter_knowledge_rank"].append(rank)
            table["counter_knowledge_log_proba"].append(values[number])
    return pd.DataFrame(table)


def return_entity_overlap_between_relation_groups(parametric_knowledge_dataset):
    rows = [
        (group, canonical(subject), canonical(answer))
        for group, subject, answer in zip(
            parametric_knowledge_dataset.relation_group_id,
            parametric_knowledge_dataset.statement_subject,
            parametric_knowledge_dataset.parametric_object,
        )
        if not pd.isna(group)
    ]
    groups_of = defaultdict(set)
    for group, *names in rows:
        for name in names:
            groups_of[name].add(group)
    order = list(dict.fromkeys(group for group, *_ in rows))
    counts = {first: dict.fromkeys(order, 0) for first in order}
    for group, subject, answer in rows:
        for other in groups_of[subject] | groups_of[answer]:
            counts[group][other] += 1
    return counts


def perform_classification_by_relation_group(
    prompting_results, include_mlps, include_mlps_l1, include_mhsa, position, seed=0
):
    wanted = dict(zip(MODULES, [include_mlps, include_mlps_l1, include_mhsa]))
    if not any(wanted.values()):
        raise ValueError("no module")
    if position not in POSITIONS:
        raise ValueError(position)
    every_source = prompting_results["knowledge_source"].tolist()
    kept = [place for place, source in enumerate(every_source) if source in LABELS]
    labels = np.array([LABELS[every_source[place]] for place in kept], dtype=np.int64)
    every_group, every_entity = prompting_results["relation_group_id"].tolist(), row_entities(prompting_results)
    groups = [every_group[place] for place in kept]
    entities = [every_entity[place] for place in kept]
    groups_of_entity = defaultdict(set)
    for group, names in zip(groups, entities):
        for name in names:
            groups_of_entity[name].add(group)
    activations = []
    for module in MODULES:
        if wanted[module]:
            cells = prompting_results[activation_column(module, position)].tolist()
            activations.append([cells[place] for place in kept])
    order = []
    for group in groups:
        if group not in order:
            order.append(group)
    found = []
    for fold, group in enumerate(order):
        random_numbers = fold_generator(seed, fold)
        others = [
            place
            for place, other in enumerate(groups)
            if other != group and all(group not in groups_of_entity[name] for name in entities[place])
        ]
        own = [place for place, other in enumerate(groups) if other == group]
        train = undersample(np.array(others, dtype=np.int64), labels, random_numbers)
        test = undersample(np.array(own, dtype=np.int64), labels, random_numbers)
        if train.size == 0 or test.size == 0:
            continue
        for layer in range(activations[0][0].shape[0]):

            def rows(places, layer=layer):
                return np.array([np.hstack([cells[place][layer] for cells in activations]) for place in places])

            hits = fit_probe(rows(train), labels[train]).predict(rows(test)) == labels[test]
            found.append(
                {
                    "layer": layer + 1,
                    "relation_group_id": group,
                    "success_rate": int(hits.sum()) / len(test),
                    "nb_test_examples": int(test.size),
                    "nb_train_examples": int(train.size),
                }
            )
    return found


def token_places(subject, relation_text, counter_knowledge_object, tokenizer):
    statement = f"{subject} {relation_text} {counter_knowledge_object}"
    behind_the_stop = len(tokenizer.encode(statement + "."))
    ends = [0, len(tokenizer.encode(statement)) - 1]
    ends.append(behind_the_stop + len(tokenizer.encode(subject)) - 1)
    ends.append(len(tokenizer.encode(f"{statement}. {subject} {relation_text}")) - 1)
    return {POSITIONS[number]: end for number, end in enumerate(ends)}


def knowledge_source(output, parametric_object, counter_knowledge_object):
    for name, source in ((counter_knowledge_object, "CK"), (parametric_object, "PK")):
        if canonical(name) == canonical(output):
            return source
    return NOT_DEFINED


def prompt_model_and_store_activations(counter_parametric_knowledge, model):
    tokenizer = model.tokenizer
    table = {name: list(counter_parametric_knowledge[name]) for name in counter_parametric_knowledge}
    names = ["model_output", "knowledge_source", *(activation_column(m, p) for p in POSITIONS for m in MODULES)]
    table.update({name: [] for name in names})
    for number in range(len(counter_parametric_knowledge)):
        row = counter_parametric_knowledge.iloc[number]
        text = row["statement_subject"], row["relation_text"], row["counter_knowledge_object"]
        prompt = build_prompt_for_knowledge_probing(*text)
        output = clean_output(tokenizer.decode(model.generate(prompt)[0]))
        table["model_output"].append(output)
        table["knowledge_source"].append(knowledge_source(output, row["parametric_object"], text[2]))
        activations = model.forward(tokenizer.encode(prompt))[1]
        places = token_places(*text, tokenizer)
        for position, place in places.items():
            for module in MODULES:
                rows = np.vstack([of_layer[module][place] for of_layer in activations])
                table[activation_column(module, position)].append(rows)
    return pd.DataFrame(table, index=counter_parametric_knowledge.index)


def success_rates(metrics):
    counts, hits, spread = {}, {}, {}
    for item in metrics:
        layer, n, p = item["layer"], item["nb_test_examples"], item["success_rate"]
        counts[layer] = counts.get(layer, 0) + n
        hits[layer] = hits.get(layer, 0.0) + n * p
        spread[layer] = spread.get(layer, 0.0) + n * p * (1 - p)
    return {n: (hits[n] / counts[n], _Z_SCORE * spread[n] ** 0.5 / counts[n]) for n in counts}
