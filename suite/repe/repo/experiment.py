"""Reads a concept with an unsupervised direction and with supervised ones, and controls it."""

import json
import random

import numpy as np
import torch

from model import ModelConfig, TinyTransformer
from repe.control import controlled, moves, reading_vectors
from repe.pipeline import Array, ReadingPipeline, Stimulus
from repe.probes import LinearProbeRepReader
from repe.rep_readers import ClusterMeanRepReader, PCARepReader, RepReader, recenter
from tokenizer import WordTokenizer

HAPPY = ["joy", "sun", "gift", "smile", "feast", "friend", "song", "spring"]
SAD = ["loss", "rain", "debt", "tear", "wound", "storm", "grave", "winter"]
FILLERS = ["a", "the", "of", "with", "house", "road", "river", "stone", "paper", "cup"]
WORDS = [*HAPPY, *SAD, *FILLERS, "amount", "happiness", "in", "is"]
TEMPLATE = "amount of happiness in {text} is"
LAYERS = (1, 2, 3)
# The layers that are controlled.
CONTROLLED = (1, 2)
# The strength of control.
STRENGTH = 1.0
# Both sides of pairs by layer: the states with more of the concept, and those with less of it.
Sides = dict[int, tuple[Array, Array]]


def moments(values: Array) -> dict[str, float]:
    """The mean, the mean square, and a mean whose weights grow with the place."""
    values = np.asarray(values, dtype=np.float64).ravel()
    by_place = np.linspace(0, 1, len(values)) * values
    return {
        "mean": float(values.mean()),
        "square": float(np.square(values).mean()),
        "by place": float(by_place.mean()),
    }


def named(prefix: str, metrics: dict[str, float]) -> dict[str, float]:
    """Metrics under a prefix."""
    return {f"{prefix}/{key}": value for key, value in metrics.items()}


def described(stimuli: list[Stimulus], tokenizer: WordTokenizer) -> dict[str, float]:
    """What is in stimuli: the words of both texts, and which of them holds more of the concept."""
    words = [[tokenizer.encode(item.texts[side]) for item in stimuli] for side in (0, 1)]
    order = np.array([1.0 if item.first_has_more else -1.0 for item in stimuli])
    found = named("first", moments(words[0])) | named("second", moments(words[1])) | named("order", moments(order))
    # Its square is always one.
    del found["order/square"]
    return found


def states_of(pipeline: ReadingPipeline, stimuli: list[Stimulus]) -> Sides:
    """The states of both sides of each pair."""
    sides = ([item.texts[item.first_has_more ^ less] for item in stimuli] for less in (True, False))
    more, less = (pipeline.activity(texts, LAYERS) for texts in sides)
    return {layer: (more[layer], less[layer]) for layer in LAYERS}


def activity(sides: Sides) -> dict[str, float]:
    """Where hidden states lie, how much they have in common, and how far apart those of pairs are."""
    found = {}
    for layer, (more, less) in sides.items():
        found |= {
            f"layer {layer}/more": moments(more)["by place"],
            f"layer {layer}/less": moments(less)["by place"],
            f"layer {layer}/common": float(np.linalg.norm(np.concatenate([more, less]).mean(axis=0))),
            f"layer {layer}/apart": float(np.linalg.norm(more - less, axis=1).mean()),
        }
    return found


def explained(reader: RepReader, sides: Sides, stimuli: list[Stimulus], layer: int) -> float:
    """How much of the differences, of first texts minus second ones, lies along the direction, as a share."""
    more, less = sides[layer]
    order = np.array([1.0 if item.first_has_more else -1.0 for item in stimuli])[:, np.newaxis]
    rows, _ = recenter(order * (more - less))
    vector = reader.directions[layer][0]
    return float(np.square(rows @ vector).sum() / np.square(rows).sum() / (vector @ vector))


def projected(reader: RepReader, sides: Sides, layer: int) -> dict[str, float]:
    """Mean projections of the states with more of the concept, and of those with less."""
    more, less = sides[layer]
    both = reader.project_onto_directions(np.concatenate([more, less]), layer)
    return {"more": float(both[: len(more)].mean()), "less": float(both[len(more) :].mean())}


def run(seed: int = 0) -> dict[str, dict[str, float]]:
    """The metrics of each stage: of stimuli and activity, of directions, and of what they read and control."""
    tokenizer = WordTokenizer(WORDS)
    generator, drawn = random.Random(seed), random.Random(seed + 2**20)
    train = _stimuli(24, slice(4), generator)
    test = _stimuli(20, slice(4, 8), drawn)
    data = named("train", described(train, tokenizer)) | named("test", described(test, tokenizer))

    amounts = torch.tensor([(word in HAPPY) - (word in SAD) for word in WORDS], dtype=torch.float64)
    model = TinyTransformer(ModelConfig(len(WORDS)), amounts, seed + 2**21)
    pipeline = ReadingPipeline(model, tokenizer, TEMPLATE)
    seen, unseen = states_of(pipeline, train), states_of(pipeline, test)
    stages = {"data": data, "activity": activity(seen), "reading": {}, "evaluation": {}, "control": {}, "rates": {}}

    readers = {
        "pca": PCARepReader(n_components=2),
        "means": ClusterMeanRepReader(),
        "probe": LinearProbeRepReader(),
    }
    for name, reader in readers.items():
        pipeline.fit(reader, train, LAYERS)
        for layer in LAYERS:
            stages["reading"] |= named(f"{name}, layer {layer}", projected(reader, seen, layer))
            stages["evaluation"] |= named(f"{name}, layer {layer}", projected(reader, unseen, layer))
            stages["evaluation"][f"{name}, layer {layer}/explained"] = explained(reader, unseen, test, layer)
        stages["rates"][f"{name}/accuracy"] = pipeline.accuracy(reader, test, LAYERS[0])
    for layer in LAYERS:
        first, supervised = (readers[name].directions[layer][0] for name in ("pca", "means"))
        stages["reading"][f"layer {layer}/alignment"] = float(abs(first @ supervised))
        stages["reading"][f"layer {layer}/explained"] = explained(readers["pca"], seen, train, layer)

    # What the last layer then holds of the concept.
    readout = reading_vectors(readers["means"], LAYERS)[LAYERS[-1]]
    texts = [item.texts[not item.first_has_more] for item in test] + [item.texts[item.first_has_more] for item in test]
    for name in ("pca", "means"):
        vectors = reading_vectors(readers[name], CONTROLLED)
        for kind, strength in (("added", STRENGTH), ("taken away", -STRENGTH), ("removed", None)):
            found = controlled(pipeline, texts, moves(vectors, strength)) @ readout
            more, less = found[: len(test)].mean().item(), found[len(test) :].mean().item()
            stages["control"] |= {f"{name}/{kind}/more": more, f"{name}/{kind}/less": less}
    return stages


def _stimuli(count: int, half: slice, generator: random.Random) -> list[Stimulus]:
    """Pairs of texts, one with happy words and one with sad ones among fillers, in random order."""
    orders = [generator.random() < 0.5 for _ in range(count)]
    stimuli = []
    for first_has_more in orders:
        fillers = generator.choices(FILLERS, k=4)
        more, less = (" ".join([*generator.sample(kind[half], 2), *fillers]) for kind in (HAPPY, SAD))
        stimuli.append(Stimulus((more, less) if first_has_more else (less, more), first_has_more))
    return stimuli


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
