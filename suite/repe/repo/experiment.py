"""Does an unsupervised direction read a concept, and in which layers? How near is it to a supervised one?"""

import json
import random

import torch

from model import ModelConfig, TinyTransformer
from repe.pipeline import ReadingPipeline, Stimulus
from repe.rep_readers import ClusterMeanRepReader, PCARepReader
from tokenizer import WordTokenizer

HAPPY = ["joy", "sun", "gift", "smile", "feast", "friend", "song", "spring"]
SAD = ["loss", "rain", "debt", "tear", "wound", "storm", "grave", "winter"]
FILLERS = ["a", "the", "of", "with", "house", "road", "river", "stone", "paper", "cup"]
TEMPLATE = "amount of happiness in {text} is"
LAYERS = (1, 2, 3)


def run(seed: int = 0) -> dict[str, float]:
    """Accuracy over pairs of unseen words by reader and layer, and the cosine between both readers' directions."""
    words = [*HAPPY, *SAD, *FILLERS, "amount", "happiness", "in", "is"]
    tokenizer = WordTokenizer(words)
    amounts = torch.tensor([(word in HAPPY) - (word in SAD) for word in words], dtype=torch.float64)
    pipeline = ReadingPipeline(TinyTransformer(ModelConfig(len(words)), amounts, seed), tokenizer, TEMPLATE)
    generator = random.Random(seed)
    # Directions are found with half of the words and tried on the other half.
    train = [_stimulus(generator, slice(4)) for _ in range(24)]
    test = [_stimulus(generator, slice(4, 8)) for _ in range(40)]
    metrics = {}
    readers = {"pca": PCARepReader(n_components=2), "means": ClusterMeanRepReader()}
    for name, reader in readers.items():
        pipeline.fit(reader, train, LAYERS)
        for layer in LAYERS:
            metrics[f"{name}, layer {layer}"] = pipeline.accuracy(reader, test, layer)
    for layer in LAYERS:
        first, supervised = (reader.directions[layer][0] for reader in readers.values())
        metrics[f"alignment, layer {layer}"] = float(abs(first @ supervised))
    return metrics


def _stimulus(generator: random.Random, half: slice) -> Stimulus:
    """Two texts with the same fillers, one with two happy words and one with two sad ones."""
    fillers = generator.choices(FILLERS, k=4)
    texts = [" ".join([*generator.sample(kind[half], 2), *fillers]) for kind in (HAPPY, SAD)]
    first_has_more = generator.random() < 0.5
    first, second = texts if first_has_more else reversed(texts)
    return Stimulus((first, second), first_has_more)


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
