"""Parametric knowledge (Section 3.1): the objects that a model writes when it is asked without any context."""

import re

import pandas as pd

from src.config import NB_EXAMPLES_SHOWN
from src.entities import canonical
from src.model import TinyModel
from src.prompts import build_parametric_prompt, make_query, parse_examples

# An answer ends where the first of these stands.
_END_OF_ANSWER = re.compile(r'"|\.|\n|,|\(')


def clean_output(text: str) -> str:
    """The object in what a model wrote: its first part, without white space around it."""
    return _END_OF_ANSWER.split(text)[0].strip()


def generate_parametric_knowledge_dataset(
    knowledge_base: pd.DataFrame, relations_with_gen_desc: pd.DataFrame, model: TinyModel
) -> pd.DataFrame:
    """What the model answers for each triplet (equation 1); rows in which it wrote no object are left out.

    Columns: statement_subject, rel_lemma, relation_group_id, relation_text, statement_query, statement_object (that of
    the knowledge base, which need not be the model's), parametric_object (as the model wrote it),
    parametric_object_token_ids, first_token_log_probas (an array over the vocabulary), popularity.
    """
    relations = {relation.relation: relation for relation in relations_with_gen_desc.itertuples()}
    records = []
    for fact in knowledge_base.itertuples():
        relation = relations[fact.rel_lemma]
        query = make_query(fact.subject, relation.relation_text)
        prompt = build_parametric_prompt(
            query,
            relation.relation_text,
            relation.object_generation_description.replace("the subject", fact.subject),
            relation.generation_examples if isinstance(relation.generation_examples, str) else None,
        )
        token_ids, log_probas, _ = model.generate(prompt)
        records.append(
            {
                "statement_subject": fact.subject,
                "rel_lemma": fact.rel_lemma,
                "relation_group_id": relation.relation_group_id,
                "relation_text": relation.relation_text,
                "statement_query": query,
                "statement_object": fact.object,
                "parametric_object": clean_output(model.tokenizer.decode(token_ids)),
                "parametric_object_token_ids": token_ids,
                "first_token_log_probas": log_probas,
                "popularity": fact.popularity,
            }
        )
    answers = pd.DataFrame(records)
    return answers[answers.parametric_object != ""].reset_index(drop=True)


def is_parametric_object_not_in_the_prompt(
    parametric_object: str, relations_with_gen_desc: pd.DataFrame, nb_examples_shown: int = NB_EXAMPLES_SHOWN
) -> bool:
    """Whether no prompt, of whatever relation, shows the entity that the model answered with.

    An object that a prompt shows may have been copied from there rather than known. A prompt shows the first
    `nb_examples_shown` examples of its relation.
    """
    shown = {
        canonical(name)
        for text in relations_with_gen_desc.generation_examples
        if isinstance(text, str)
        for example in parse_examples(text)[:nb_examples_shown]
        for name in (example.subject, *example.objects)
    }
    return canonical(parametric_object) not in shown
