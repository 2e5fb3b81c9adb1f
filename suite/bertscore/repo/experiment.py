"""Does the metric rank candidates as a judge would who minds errors and not rewordings? With and without idf."""

import json

import torch

from bert_score.correlation import kendall_tau
from bert_score.encoder import ContextEncoder
from bert_score.scoring import score
from bert_score.tokenizer import WordPieceTokenizer
from data import WORDS, make_items


def run(seed: int = 0) -> dict[str, float]:
    """Kendall correlation of precision, recall, F and of exact word matching with the judgements, and mean scores."""
    generator = torch.Generator().manual_seed(seed)
    items = make_items(80, generator)
    judgements = torch.tensor([item.judgement for item in items])
    candidates, references = [item.candidate for item in items], [item.reference for item in items]
    tokenizer, encoder = WordPieceTokenizer(WORDS), ContextEncoder(seed=seed)
    # The baseline: the mean score of sentences that have nothing to do with each other.
    baseline = float(score(candidates, references[1:] + references[:1], tokenizer, encoder)[2].mean())
    results = {"baseline": baseline}
    for name, importance in (("idf", True), ("uniform", False)):
        scores = score(candidates, references, tokenizer, encoder, importance, baseline)
        for part, values in zip(("precision", "recall", "f"), scores, strict=True):
            results[f"{name}/{part}/kendall"] = kendall_tau(values, judgements)
            results[f"{name}/{part}/mean"] = float(values.mean())
    matches = [_exact_recall(item.candidate.split(), item.reference.split()) for item in items]
    results["exact_match/kendall"] = kendall_tau(torch.tensor(matches), judgements)
    return results


def _exact_recall(candidate: list[str], reference: list[str]) -> float:
    return sum(word in candidate for word in reference) / len(reference)


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
