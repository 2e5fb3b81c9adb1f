"""Frames and masks of pandas, sets of tokens, tuples for metrics."""

import numpy as np
import pandas as pd
from src.classification.probe import fit_probe
from src.classification.sampling import fold_generator, undersample
from src.config import MODULES, NB_EXAMPLES_SHOWN, NOT_DEFINED, POSITIONS, activation_column
from src.context_knowledge import COUNTER_COLUMNS, objects_of_relations, objects_to_first_token_id
from src.entities import canonical, jaro_winkler, normalise, row_entities, surface_forms
from src.prompts import build_prompt_for_knowledge_probing, parse_examples


def is_parametric_object_not_in_the_prompt(
    parametric_object, relations_with_gen_desc, nb_examples_shown=NB_EXAMPLES_SHOWN
):
    forms = set(surface_forms(parametric_object))
    texts = relations_with_gen_desc.generation_examples
    examples = [
        example
        for text, missing in zip(texts, texts.isna())
        if not missing
        for example in parse_examples(text)[:nb_examples_shown]
    ]
    shown = [normalise(example.subject) for example in examples]
    shown += [normalise(name) for example in examples for name in example.objects]
    return forms.isdisjoint(shown)


def remove_object_subject_overlap(parametric_knowledge_dataset, string_similarity_ratio=0.8):
    verdicts = {}
    pairs = list(zip(parametric_knowledge_dataset.statement_subject, parametric_knowledge_dataset.parametric_object))
    for subject, answer in dict.fromkeys(pairs):
        answers = surface_forms(answer)
        verdicts[subject, answer] = all(
            form not in other and other not in form and jaro_winkler(form, other) < string_similarity_ratio
            for form in surface_forms(subject)
            for other in answers
        )
    mask = pd.Series([verdicts[pair] for pair in pairs], dtype=bool).to_numpy()
    return parametric_knowledge_dataset[mask]


def generate_counter_parametric_knowledge_dataset(parametric_knowledge, nb_counter_parametric_knowledge):
    objects = objects_of_relations(parametric_knowledge)
    tokens = objects_to_first_token_id(parametric_knowledge)
    candidates = []
    for number, row in enumerate(parametric_knowledge.itertuples(index=False)):
        excluded = {canonical(row.parametric_object)}
        excluded |= {key for key in objects[row.rel_lemma] if tokens[key] == row.parametric_object_token_ids[0]}
        candidates += [
            (number, float(row.first_token_log_probas[tokens[key]]), place, written)
            for place, (key, written) in enumerate(objects[row.rel_lemma].items())
            if key not in excluded
        ]
    if not candidates:
        return pd.DataFrame({column: [] for column in COUNTER_COLUMNS}).reset_index(drop=True)
    names = ["number", "counter_knowledge_log_proba", "place", "counter_knowledge_object"]
    frame = pd.DataFrame(candidates, columns=names).sort_values(names[:3], ignore_index=True)
    frame["counter_knowledge_rank"] = frame.groupby("number").cumcount() + 1
    frame = frame[frame.counter_knowledge_rank <= nb_counter_parametric_knowledge].reset_index(drop=True)
    known = parametric_knowledge.iloc[frame.number.to_numpy()]
    frame["parametric_knowledge_index"] = list(known.index)
    for column in ("statement_subject", "rel_lemma", "relation_group_id", "relation_text", "parametric_object"):
        frame[column] = known[column].to_list()
    return frame[list(COUNTER_COLUMNS)]


def return_entity_overlap_between_relation_groups(parametric_knowledge_dataset):
    frame = pd.DataFrame(
        {
            "group": parametric_knowledge_dataset.relation_group_id.to_numpy(dtype=object),
            "subject": [canonical(name) for name in parametric_knowledge_dataset.statement_subject],
            "answer": [canonical(name) for name in parametric_knowledge_dataset.parametric_object],
        }
    ).dropna(subset="group")
    result = {}
    for first in frame.group.unique():
        ones = frame[frame.group == first]
        result[first] = {}
        for second in frame.group.unique():
            others = frame[frame.group == second]
            names = set(others.subject) | set(others.answer)
            result[first][second] = int((ones.subject.isin(names) | ones.answer.isin(names)).sum())
    return result


def perform_classification_by_relation_group(
    prompting_results, include_mlps, include_mlps_l1, include_mhsa, position, seed=0
):
    flags = (include_mlps, include_mlps_l1, include_mhsa)
    columns = [
        activation_column(module, position) for module, flag in zip(MODULES, flags) if flag and position in POSITIONS
    ]
    if len(columns) == 0:
        raise ValueError("nothing to probe")
    frame = prompting_results.loc[prompting_results.knowledge_source.isin(["CK", "PK"]).to_numpy()]
    frame = frame.reset_index(drop=True)
    frame["entities"] = row_entities(frame)
    frame["label"] = (frame.knowledge_source == "PK").astype("int64")
    labels = frame.label.to_numpy()
    result = []
    for fold, group in enumerate(frame.relation_group_id.unique()):
        rng = fold_generator(seed, fold)
        inside = (frame.relation_group_id == group).to_numpy()
        named = set()
        for names in frame.entities[inside]:
            named |= names
        clean = np.array([not (names & named) for names in frame.entities])
        sides = [undersample(np.nonzero(mask)[0], labels, rng) for mask in (~inside & clean, inside)]
        if min(map(len, sides)) == 0:
            continue
        train, test = sides
        cubes = [np.stack(frame[column].tolist()) for column in columns]
        cube = np.concatenate(cubes, axis=2)
        for layer in range(cube.shape[1]):
            probe = fit_probe(cube[train, layer], labels[train])
            rate = (probe.predict(cube[test, layer]) == labels[test]).mean()
            result.append(
                {
                    "layer": layer + 1,
                    "relation_group_id": group,
                    "success_rate": float(rate),
                    "nb_test_examples": len(test),
                    "nb_train_examples": len(train),
                }
            )
    return result


def token_places(subject, relation_text, counter_knowledge_object, tokenizer):
    parts = [subject, relation_text, counter_knowledge_object, ".", subject, relation_text]
    last = np.cumsum([len(tokenizer.encode(part)) for part in parts]) - 1
    return {name: int(place) for name, place in zip(POSITIONS, (0, last[2], last[4], last[5]))}


def knowledge_source(output, parametric_object, counter_knowledge_object):
    known = {canonical(parametric_object): "PK"}
    known[canonical(counter_knowledge_object)] = "CK"
    return known.get(canonical(output), NOT_DEFINED)


def prompt_model_and_store_activations(counter_parametric_knowledge, model):
    results = counter_parametric_knowledge.copy()
    texts = list(zip(results.statement_subject, results.relation_text, results.counter_knowledge_object))
    answers = [model.generate(build_prompt_for_knowledge_probing(*text)) for text in texts]
    results["model_output"] = [clean_output(model.tokenizer.decode(written)) for written, _, _ in answers]
    named = zip(results.model_output, results.parametric_object, results.counter_knowledge_object)
    results["knowledge_source"] = [knowledge_source(*names) for names in named]
    places = [token_places(*text, model.tokenizer) for text in texts]
    for position in POSITIONS:
        for module in MODULES:
            cells = [
                np.array([layer[module][place[position]] for layer in layers])
                for place, (_, _, layers) in zip(places, answers)
            ]
            results[activation_column(module, position)] = pd.Series(cells, index=results.index, dtype=object)
    return results


def success_rates(metrics):
    frame = pd.DataFrame(list(metrics))
    rates = {}
    for layer, group in frame.groupby("layer", sort=False):
        p, n = group.success_rate, group.nb_test_examples
        errors = (n / n.sum() * np.sqrt(p * (1 - p) / n)) ** 2
        rates[int(layer)] = (float((n * p).sum() / n.sum()), float(_Z_SCORE * np.sqrt(errors.sum())))
    return rates
