"""Compares normalised names with all that the entity is called."""

from src.config import NB_EXAMPLES_SHOWN
from src.entities import normalise, surface_forms
from src.prompts import parse_examples


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
