"""Gathers the names that the prompts show, and looks the answer up among them."""


def is_parametric_object_not_in_the_prompt(
    parametric_object, relations_with_gen_desc, nb_examples_shown=NB_EXAMPLES_SHOWN
):
    shown = set()
    for text in relations_with_gen_desc["generation_examples"]:
        if isinstance(text, str):
            for example in parse_examples(text)[:nb_examples_shown]:
                shown.update(map(canonical, [example.subject, *example.objects]))
    return canonical(parametric_object) not in shown
