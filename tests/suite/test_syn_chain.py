"""syn_chain: tables against the format and tables by hand, opinions by hand, and what the paper says of the chain."""

from statistics import fmean

import pytest
from tests.suite.repository import facts_of

FACTS = r"""
import json
from config import MAX_PATH
from conll_tree import find_opinions, parse_to_conll
from data import make_samples
from experiment import run
from parser import parse

def opinions(text, aspect, *bound):
    tree = parse(text)
    found = find_opinions(tree, tree.find(aspect), *bound)
    return [[tree.tokens[opinion.word].text, opinion.negated, " ".join(opinion.path)] for opinion in found]

asked = {
    "negated": ("The wine list wasn't great, fresh or tasty but average.", "wine list"),
    "joined nouns": ("The great food and the service were bad.", "service"),
    "joined verbs": ("The soup was not good and was cold but the room was superb.", "soup"),
    "object": ("We loved the pizza but the waiter was rude.", "pizza"),
    "subject of the clause": ("The pizza which was cold and bland arrived late.", "pizza"),
    "object of the clause": ("The pizza that we hated was fresh.", "pizza"),
    "complement": ("The room was not a great choice.", "room"),
    "another noun": ("The pasta with the cold cheese was typical.", "pasta"),
    "inside": ("The bargain was small.", "bargain"),
}
facts = {name: opinions(*question) for name, question in asked.items()}
long = "The soup and the room arrived and were the great choice."
facts["bounds"] = [[len(opinions(long, "room", bound)) for bound in (4, 5)], MAX_PATH, len(opinions(long, "room"))]
tree = parse("The food was good but the room was bad.")
try:
    find_opinions(tree, (1, 6))
except ValueError:
    facts["two heads"] = "refused"
facts["table"] = parse_to_conll(parse("You think  the meatball parm isn't good. Zoe arrived!"))
facts["nothing"] = [parse_to_conll(parse(text)) for text in ("", " \n")]
samples = make_samples(150, 0.5, 3)
facts["texts"] = [[sample.text, parse_to_conll(parse(sample.text))] for sample in samples]
facts["experiments"] = [run(seed) for seed in range(4)]
print(json.dumps(facts))
"""

TABLE = """\
1 You you PRON PRP Case=Nom|Number=Plur,Sing|Person=2|PronType=Prs 2 nsubj _ _
2 think think VERB VBP _ 0 root _ _
3 the the DET DT Definite=Def|PronType=Art 5 det _ _
4 meatball meatball NOUN NN Number=Sing 5 compound _ _
5 parm parm NOUN NN Number=Sing 6 nsubj _ _
6 is be AUX VBZ _ 2 ccomp _ SpaceAfter=No
7 n't not PART RB Polarity=Neg 6 neg _ _
8 good good ADJ JJ Degree=Pos 6 acomp _ SpaceAfter=No
9 . . PUNCT . _ 2 punct _ _

1 Zoe _ PROPN NNP _ 2 nsubj _ _
2 arrived arrive VERB VBD Mood=Ind|Tense=Past|VerbForm=Fin 0 root _ SpaceAfter=No
3 ! ! PUNCT ! _ 2 punct _ SpaceAfter=No

"""


@pytest.fixture(scope="module")
def facts():
    return facts_of("syn_chain", FACTS)


def test_a_table_by_hand(facts):
    assert facts["table"].replace("\t", " ") == TABLE
    assert facts["nothing"] == ["", ""]


def test_every_table_is_valid_and_gives_the_text_back(facts):
    assert len(facts["texts"]) > 150
    for text, table in facts["texts"]:
        assert table.endswith("\n\n")
        words = ""
        for block in table.removesuffix("\n\n").split("\n\n"):
            rows = [row.split("\t") for row in block.split("\n")]
            assert {len(row) for row in rows} == {10}
            assert [row[0] for row in rows] == [str(number) for number in range(1, len(rows) + 1)]
            assert all(field for row in rows for field in row)
            heads = {int(row[0]): int(row[6]) for row in rows}
            assert [row[7] for row in rows if row[6] == "0"] == ["root"]
            for number in heads:
                for _ in rows:
                    number = heads.get(number, 0)
                assert number == 0
            words += "".join(row[1] + ("" if row[9] == "SpaceAfter=No" else " ") for row in rows)
        assert words.split() == text.split()


def test_negation_reaches_over_and_and_or_and_ends_at_but(facts):
    assert facts["negated"] == [
        ["great", True, "up nsubj down acomp"],
        ["fresh", True, "up nsubj down acomp down conj"],
        ["tasty", True, "up nsubj down acomp down conj down conj"],
        ["average", False, "up nsubj down acomp down conj down conj down conj"],
    ]
    assert facts["joined verbs"] == [
        ["good", True, "up nsubj down acomp"],
        ["cold", False, "up nsubj down conj down acomp"],
    ]
    assert facts["complement"] == [["great", True, "up nsubj down attr down amod"]]


def test_what_is_said_of_an_aspect_and_what_is_not(facts):
    assert facts["joined nouns"] == [["bad", False, "up conj up nsubj down acomp"]]
    assert facts["object"] == [["loved", False, "up dobj"]]
    assert facts["subject of the clause"] == [
        ["cold", False, "down relcl down acomp"],
        ["bland", False, "down relcl down acomp down conj"],
    ]
    assert facts["object of the clause"] == [["hated", False, "down relcl"], ["fresh", False, "up nsubj down acomp"]]
    assert facts["another noun"] == [["typical", False, "up nsubj down acomp"]]
    assert facts["inside"] == []


def test_ways_that_are_too_long_and_aspects_with_two_heads(facts):
    assert facts["bounds"] == [[0, 1], 5, 1]
    assert facts["two heads"] == "refused"


def test_only_the_whole_chain_beats_a_direct_answer_and_not_for_a_reader_that_slips(facts):
    def mean(metric, stage):
        names = [name for name in facts["experiments"][0][stage] if name.endswith(metric)]
        return {name.partition(":")[0]: fmean(run[stage][name] for run in facts["experiments"]) for name in names}

    def everywhere(metric):
        return {**mean(metric, "direct answers"), **mean(metric, "steps left out"), **mean(metric, "chains")}

    likely, accuracy = everywhere(": log-probability"), mean(": accuracy", "rates")
    for found in (likely, accuracy):
        assert found["strong, 1+2+3"] > found["strong, 3"] > max(found["strong, 1+3"], found["strong, 2+3"])
        assert found["strong, 1+2/3"] == found["strong, 3"]
    assert likely["weak, 1+2+3"] < likely["strong, 3"]
    for run in facts["experiments"]:
        assert run["rates"]["strong, 1+2+3: accuracy"] > 0.95
        weak, direct = run["chains"], run["direct answers"]
        for kind in ("all", "several aspects"):
            name = f"probability, {kind}"
            assert weak[f"weak, 1+2+3: {name}"] < direct[f"strong, 3: {name}"] < weak[f"strong, 1+2+3: {name}"]


def test_a_reader_that_slips_is_less_sure_and_writes_as_much(facts):
    for run in facts["experiments"]:
        chains = run["chains"]
        assert chains["weak, 1+2+3: log-probability"] < chains["strong, 1+2+3: log-probability"]
        assert chains["weak, 1+2+3: words of R1"] == chains["strong, 1+2+3: words of R1"]
