"""Statements, queries and prompts (Figures 2 and 3 and Section 4), and the examples that prompts show."""

from dataclasses import dataclass

from src.config import NB_EXAMPLES_SHOWN

_NOTE, _NEXT_EXAMPLE, _NEXT_PART, _OTHER_NAME = "#", ";", "|", "/"
PARAMETRIC_TEMPLATE = (
    "Complete the following statement directly and concisely with {description} . "
    "Do not use any specific formatting and end the output with a point . {examples} {query}"
)
_EXAMPLE_TEMPLATE = "Here is an example : {statement}"


@dataclass(frozen=True)
class Example:
    """A triplet that is shown to a model. objects: the names of its one object; the first is what prompts show."""

    subject: str
    objects: tuple[str, ...]


def parse_examples(text: str) -> list[Example]:
    """The examples of a relation, in order, from `subject | object / other name of it; subject | object; # a note`.

    White space around the parts means nothing. A note is no example.
    """
    examples = []
    for item in text.split(_NEXT_EXAMPLE):
        subject, _, objects = item.partition(_NEXT_PART)
        if objects and not item.strip().startswith(_NOTE):
            names = tuple(name.strip() for name in objects.split(_OTHER_NAME))
            examples.append(Example(subject.strip(), names))
    return examples


def make_query(subject: str, relation_text: str) -> str:
    """A subject and a relation as a statement whose object is to be filled in."""
    return f"{subject} {relation_text}"


def make_statement(subject: str, relation_text: str, target: str) -> str:
    """A triplet as a sentence."""
    return f"{make_query(subject, relation_text)} {target}."


def build_parametric_prompt(query: str, relation_text: str, description: str, examples: str | None) -> str:
    """The prompt that asks a model for what it knows itself (Figure 2)."""
    shown = parse_examples(examples or "")[:NB_EXAMPLES_SHOWN]
    statements = [make_statement(example.subject, relation_text, example.objects[0]) for example in shown]
    examples_text = " ".join(_EXAMPLE_TEMPLATE.format(statement=statement) for statement in statements)
    return PARAMETRIC_TEMPLATE.format(description=description, examples=examples_text, query=query)


def build_prompt_for_knowledge_probing(subject: str, relation_text: str, counter_knowledge_object: str) -> str:
    """A statement that contradicts what the model knows, and then the query about the same subject."""
    query = make_query(subject, relation_text)
    return f"{make_statement(subject, relation_text, counter_knowledge_object)} {query}"
