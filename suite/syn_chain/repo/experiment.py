"""Two scripted readers, one of which misreads the tree, judge toy reviews with and without each link of the chain."""

import json

from chain import PLANS, run_chain
from config import ChainConfig
from conll_tree import find_opinions, parse_to_conll
from data import make_samples
from evaluation import MetricsLog
from parser import parse
from reader import Reader


def run(seed: int = 0) -> dict[str, float]:
    """The accuracy and macro F1 of each reader by each plan, and figures of the tables and chains."""
    config = ChainConfig()
    samples = make_samples(config.reviews, config.distractors, seed)
    log = MetricsLog()
    for name, slips in (("strong", config.strong), ("weak", config.weak)):
        for plan in PLANS:
            reader = Reader(slips, config.max_path, seed)
            log.record(f"{name}, {plan}", [run_chain(reader, sample, plan) for sample in samples])
    parses = [parse(sample.text) for sample in samples]
    found = [find_opinions(tree, tree.find(sample.aspect)) for tree, sample in zip(parses, samples, strict=True)]
    paths = [len(opinion.path) for opinions in found for opinion in opinions]
    log.figures["table: characters"] = sum(len(parse_to_conll(tree)) for tree in parses) / len(parses)
    log.figures["chains: opinions"] = len(paths) / len(samples)
    log.figures["chains: negated"] = sum(opinion.negated for opinions in found for opinion in opinions) / len(paths)
    log.figures["chains: mean path"] = sum(paths) / len(paths)
    return log.figures


if __name__ == "__main__":
    print(json.dumps(run()))
