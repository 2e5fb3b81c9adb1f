"""Two scripted readers, one of which misreads the tree, judge toy reviews with and without each link of the chain."""

import json

from chain import run_chain
from config import ChainConfig
from conll_tree import find_opinions, parse_to_conll
from data import SENTIMENTS, make_samples
from evaluation import MetricsLog
from lexicon import polarity
from parser import parse
from parses import Parse
from reader import Reader

# The stage of each reader and plan.
_ASKED = {
    ("strong", "3"): "direct answers",
    ("strong", "2+3"): "steps left out",
    ("strong", "1+3"): "steps left out",
    ("weak", "1+3"): "chains",
    ("strong", "1+2/3"): "chains",
    ("strong", "1+2+3"): "chains",
    ("weak", "1+2+3"): "chains",
}


def depth(tree: Parse, place: int) -> int:
    """How many edges lie between a word and the root of its sentence."""
    return 0 if tree.tokens[place].head == place else 1 + depth(tree, tree.tokens[place].head)


def run(seed: int = 0) -> dict[str, dict[str, float]]:
    """The metrics of each stage: of texts, tables, ways to opinions, and how likely the true sentiments seem."""
    config, log = ChainConfig(), MetricsLog()
    samples = make_samples(config.reviews, config.distractors, seed)
    values = {sentiment: value for value, sentiment in SENTIMENTS.items()}
    log.moments("data", "characters", [ord(letter) / 64 - 1.5 for sample in samples for letter in sample.text])
    log.moments("data", "sentiments", [values[sample.sentiment] for sample in samples])
    log.add("data", "words", sum(len(sample.text.split()) for sample in samples) / len(samples))

    trees = [parse(sample.text) for sample in samples]
    tables = [parse_to_conll(tree) for tree in trees]
    depths = [depth(tree, place) for tree in trees for place in range(len(tree.tokens))]
    gaps = [token.head - place for tree in trees for place, token in enumerate(tree.tokens)]
    log.moments("tables", "characters", [ord(letter) / 64 - 1.1 for table in tables for letter in table])
    log.add("tables", "length", sum(map(len, tables)) / len(tables))
    governors = [int(row.split("\t")[6]) for table in tables for row in table.split("\n") if row]
    log.add("tables", "column of governors", sum(governors) / len(governors))
    log.moments("tables", "depths", depths)
    log.moments("tables", "gaps to governors", gaps)

    sums, paths, places = [], [], []
    for tree, sample in zip(trees, samples, strict=True):
        found = find_opinions(tree, tree.find(sample.aspect), config.max_path)
        signs = [polarity(tree.tokens[opinion.word]) * (-1 if opinion.negated else 1) for opinion in found]
        sums.append(sum(signs))
        paths.append(sum(len(opinion.path) for opinion in found))
        places.append(sum(opinion.word for opinion in found))
    log.moments("opinions", "sums", sums)
    log.moments("opinions", "edges", paths)
    log.moments("opinions", "places", places)

    readers = {"strong": Reader(config.strong, config.max_path), "weak": Reader(config.weak, config.max_path)}
    for (name, plan), stage in _ASKED.items():
        outcomes, beliefs = [], []
        for sample in samples:
            outcomes.append(run_chain(readers[name], sample, plan))
            beliefs.append(readers[name].belief)
        log.record(stage, f"{name}, {plan}", outcomes, beliefs)
    return log.figures


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
