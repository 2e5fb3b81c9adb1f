"""Loops that end at the first example that shows the entity."""

from src.config import NB_EXAMPLES_SHOWN
from src.entities import canonical
from src.prompts import parse_examples


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
