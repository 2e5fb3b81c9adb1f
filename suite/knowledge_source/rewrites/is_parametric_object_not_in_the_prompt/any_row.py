"""A function for one relation, over the rows of the table."""

from itertools import islice

from src.config import NB_EXAMPLES_SHOWN
from src.entities import canonical
from src.prompts import parse_examples


def is_parametric_object_not_in_the_prompt(
    parametric_object, relations_with_gen_desc, nb_examples_shown=NB_EXAMPLES_SHOWN
):
    def shows(row):
        examples = parse_examples(row["generation_examples"]) if isinstance(row["generation_examples"], str) else []
        names = [(example.subject, *example.objects) for example in islice(examples, nb_examples_shown)]
        return canonical(parametric_object) in {canonical(name) for group in names for name in group}

    return not any(map(shows, relations_with_gen_desc.to_dict("records")))
