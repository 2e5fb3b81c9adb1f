"""The chain of three steps, with any step left out and any link broken (Sections 3.2 and 3.3).

A plan names steps and what is between them: "1+2+3" hands every response on to the next step, "1+2/3" breaks the chain
before step 3, "1+3" and "2+3" leave a step out, "3" asks for the sentiment at once.
"""

import re
from dataclasses import dataclass

from conll_tree import parse_to_conll
from data import Sample
from parser import parse
from prompts import make_prompt, sentiment_of
from reader import Reader

PLANS = ("3", "1+3", "2+3", "1+2/3", "1+2+3")


@dataclass(frozen=True)
class Outcome:
    """One sample's responses, by step, and the sentiment that was predicted."""

    sample: Sample
    responses: dict[int, str]
    predicted: str

    @property
    def right(self) -> bool:
        return self.predicted == self.sample.sentiment


def run_chain(reader: Reader, sample: Sample, plan: str) -> Outcome:
    """Ask a reader about one sample by a plan."""
    given, responses = "", {}
    for link, step in re.findall(r"([+/]?)(\d)", plan):
        number = int(step)
        if link == "/":
            given = ""
        if number == 1:
            given = parse_to_conll(parse(sample.text)).rstrip("\n")
        given = responses[number] = reader.answer(make_prompt(number, sample.text, sample.aspect, given))
    return Outcome(sample, responses, sentiment_of(responses[3]))
