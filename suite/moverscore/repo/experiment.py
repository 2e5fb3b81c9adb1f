"""How well do variants of the metric agree with judges who mind errors and not rewordings?"""

import json

import torch

from data import MEANINGS, PIECES, STOP_WORDS, make_items
from moverscore.correlation import pearson, unigram_overlap
from moverscore.encoder import EncoderConfig, TinyEncoder
from moverscore.score import ScoreConfig, score_texts
from moverscore.tokenizer import WordPieceTokenizer

# More words than any text has: an n-gram of this size is a sentence.
SENTENCE = 50
VARIANTS = {
    "wmd_1": (ScoreConfig(stop_words=STOP_WORDS), False),
    "wmd_1_static": (ScoreConfig(stop_words=STOP_WORDS), True),
    "wmd_2": (ScoreConfig(n_gram=2, remove_subwords=False), False),
    "smd": (ScoreConfig(n_gram=SENTENCE, stop_words=STOP_WORDS), False),
}


def run(seed: int = 0) -> dict[str, float]:
    """Correlation with the judgements of each variant and of a lexical metric, and the variants' mean scores."""
    items = make_items(15, torch.Generator().manual_seed(seed))
    references, hypotheses = [item.reference for item in items], [item.hypothesis for item in items]
    judgements = [item.judgement for item in items]
    tokenizer = WordPieceTokenizer(PIECES)
    encoder = TinyEncoder(tokenizer, MEANINGS, EncoderConfig(), seed)
    overlaps = [unigram_overlap(*texts) for texts in zip(references, hypotheses, strict=True)]
    results = {"overlap/pearson": pearson(overlaps, judgements)}
    for name, (config, static) in VARIANTS.items():
        scores = score_texts(references, hypotheses, tokenizer, encoder, config, static)
        results[f"{name}/pearson"] = pearson(scores, judgements)
        results[f"{name}/mean"] = sum(scores) / len(scores)
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
