"""Prompting a model with what contradicts it: where its answer comes from, and its activations (Section 4)."""

import numpy as np
import pandas as pd

from src.config import MODULES, NOT_DEFINED, POSITIONS, activation_column
from src.entities import canonical
from src.model import TinyModel
from src.parametric_knowledge import clean_output
from src.prompts import build_prompt_for_knowledge_probing, make_query
from src.tokenizer import Tokenizer


def token_places(
    subject: str, relation_text: str, counter_knowledge_object: str, tokenizer: Tokenizer
) -> dict[str, int]:
    """Where the tokens of `POSITIONS` stand in the prompt that `build_prompt_for_knowledge_probing` makes."""
    before_object = len(tokenizer.encode(make_query(subject, relation_text)))
    last_of_object = before_object + len(tokenizer.encode(counter_knowledge_object)) - 1
    # The query begins after the object and a stop.
    query = last_of_object + 2
    last_of_subject = query + len(tokenizer.encode(subject)) - 1
    return dict(zip(POSITIONS, (0, last_of_object, last_of_subject, query + before_object - 1), strict=True))


def knowledge_source(output: str, parametric_object: str, counter_knowledge_object: str) -> str:
    """CK where the model answered with the object of its context, PK where with its own, ND otherwise."""
    answered = canonical(output)
    if answered == canonical(counter_knowledge_object):
        return "CK"
    return "PK" if answered == canonical(parametric_object) else NOT_DEFINED


def prompt_model_and_store_activations(counter_parametric_knowledge: pd.DataFrame, model: TinyModel) -> pd.DataFrame:
    """The rows of counter-knowledge with model_output, knowledge_source and columns of activations, in this order.

    The rows keep their labels. model_output is the object in what the model wrote. There is a column of activations for
    each position and, within it, each module, in the orders of `src/config.py`. The activations are those of the prompt
    alone, before the model has written anything.
    """
    added = []
    for row in counter_parametric_knowledge.itertuples():
        parts = (row.statement_subject, row.relation_text, row.counter_knowledge_object)
        prompt = build_prompt_for_knowledge_probing(*parts)
        places = token_places(*parts, model.tokenizer)
        token_ids, _, layers = model.generate(prompt)
        output = clean_output(model.tokenizer.decode(token_ids))
        source = knowledge_source(output, row.parametric_object, row.counter_knowledge_object)
        record = {"model_output": output, "knowledge_source": source}
        for position in POSITIONS:
            for module in MODULES:
                activations = np.stack([layer[module][places[position]] for layer in layers])
                record[activation_column(module, position)] = activations
        added.append(record)
    return counter_parametric_knowledge.join(pd.DataFrame(added, index=counter_parametric_knowledge.index))
