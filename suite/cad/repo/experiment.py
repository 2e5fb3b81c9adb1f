"""Questions whose document contradicts what the model has memorised: does it answer from memory or from the text?"""

import json

import torch

from cad.data import WORDS, draw_facts, make_examples
from cad.decoding import answer
from cad.evaluation import exact_match
from cad.model import VotingLM
from cad.tokenizer import WordTokenizer
from cad.training import train

ALPHAS = (0.0, 0.5, 1.0)


def run(seed: int = 0) -> dict[str, float]:
    """Exact match with agreeing and with swapped documents for each level of adjustment, greedy and sampled."""
    generator = torch.Generator().manual_seed(seed)
    facts = draw_facts(generator)
    tokenizer = WordTokenizer(WORDS)
    model = VotingLM(len(tokenizer), tokenizer.pad_id, seed)
    known = make_examples(facts, generator, swapped=False, copies=1)
    # As often as chance would have it, a document that is read in training agrees with what is known.
    readings = [*make_examples(facts, generator, swapped=True, copies=11), *known]
    train(model, tokenizer, known, readings)
    results = {}
    for name, swapped in (("original", False), ("swapped", True)):
        examples = make_examples(facts, generator, swapped, copies=3)
        questions, documents, answers = zip(
            *((example.question, example.document, example.answer) for example in examples), strict=True
        )
        for alpha in ALPHAS:
            for temperature in (0.0, 0.7):
                predictions = answer(model, tokenizer, questions, documents, alpha, temperature, generator)
                key = f"{name}/alpha_{alpha}/{'sampled' if temperature else 'greedy'}"
                results[key] = exact_match(predictions, answers)
    return results


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
