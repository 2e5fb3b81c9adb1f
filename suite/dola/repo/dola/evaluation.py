"""Do continuations state the facts? Answers that are generated, and a choice between two given ones."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from dola.config import DolaConfig
from dola.data import TAIL, Fact
from dola.decoding import DolaOutput, dola_greedy_decode, greedy_decode
from dola.model import EarlyExitLM
from dola.processors import Ban, Follow, Processor, RepetitionPenalty
from dola.tokenizer import WordTokenizer, left_pad

ROOM = 5
"""How many tokens a continuation may have: an answer, its tail and the end token, and one more."""


@dataclass(frozen=True)
class Report:
    """Shares of the questions.

    factual: the continuation begins with the right answer.
    popular: it begins with the misconception.
    fluent: it goes on as every sentence does, and ends.
    """

    factual: float
    popular: float
    fluent: float


def question_ids(facts: Sequence[Fact], tokenizer: WordTokenizer) -> Tensor:
    """The questions as one batch of prompts."""
    return left_pad([tokenizer.encode_prompt(fact.question) for fact in facts], tokenizer.pad_id)


def judge(facts: Sequence[Fact], continuations: Sequence[str]) -> Report:
    """Compare continuations with the facts word by word."""
    heads = [text.split()[:1] for text in continuations]
    tails = [text.split()[1:] for text in continuations]
    count = len(facts)
    return Report(
        factual=sum(head == [fact.answer] for fact, head in zip(facts, heads, strict=True)) / count,
        popular=sum(head == [fact.popular] for fact, head in zip(facts, heads, strict=True)) / count,
        fluent=sum(tail == TAIL.split() for tail in tails) / count,
    )


def answer_greedily(model: EarlyExitLM, tokenizer: WordTokenizer, facts: Sequence[Fact], layer: int) -> list[str]:
    """Continuations by plain greedy decoding of one layer."""
    prompts = question_ids(facts, tokenizer)
    longest = prompts.shape[1] + ROOM
    ids = greedy_decode(model, prompts, layer, longest, (tokenizer.eos_id,), tokenizer.pad_id)
    return [tokenizer.decode(row) for row in ids[:, prompts.shape[1] :].tolist()]


def answer_by_contrast(
    model: EarlyExitLM,
    tokenizer: WordTokenizer,
    facts: Sequence[Fact],
    candidates: tuple[int, ...],
    relative_top: float = 0.1,
    penalty: float = 1.2,
) -> tuple[list[str], DolaOutput]:
    """Continuations by contrasting the last layer with candidates, with the paper's repetition penalty."""
    prompts = question_ids(facts, tokenizer)
    config = _config(model, tokenizer, candidates, prompts.shape[1] + ROOM, relative_top)
    special = Ban((tokenizer.pad_id, tokenizer.bos_id, tokenizer.unknown_id))
    processors: list[Processor] = [special, RepetitionPenalty(penalty)]
    output = dola_greedy_decode(model, prompts, config, processors)
    return [tokenizer.decode(row) for row in output.sequences[:, prompts.shape[1] :].tolist()], output


def choose_by_contrast(
    model: EarlyExitLM,
    tokenizer: WordTokenizer,
    facts: Sequence[Fact],
    candidates: tuple[int, ...],
    relative_top: float = 0.1,
    penalty: float = 1.2,
) -> Tensor:
    """Multiple choice: how likely the right and the popular continuation are, as logarithms, (facts, 2)."""
    prompts = question_ids(facts, tokenizer).repeat(2, 1)
    start = prompts.shape[1]
    answers = [fact.answer for fact in facts] + [fact.popular for fact in facts]
    reference = torch.tensor([[*tokenizer.encode(f"{answer} {TAIL}"), tokenizer.eos_id] for answer in answers])
    config = _config(model, tokenizer, candidates, start + reference.shape[1], relative_top)
    processors: list[Processor] = [
        RepetitionPenalty(penalty),
        lambda ids, scores: scores.log_softmax(dim=-1),
        Follow(start, reference),
    ]
    output = dola_greedy_decode(model, prompts, config, processors)
    steps = zip(output.scores, reference.T, strict=True)
    likelihoods = [scores.gather(1, wanted.unsqueeze(1)).squeeze(1) for scores, wanted in steps]
    return torch.stack(likelihoods).sum(dim=0).view(2, -1).T


def share_of_right(likelihoods: Tensor) -> Tensor:
    """The share of the right continuation in the likelihood of both, (facts,), as in the MC2 of TruthfulQA."""
    return likelihoods.softmax(dim=1)[:, 0]


def _config(
    model: EarlyExitLM, tokenizer: WordTokenizer, candidates: tuple[int, ...], longest: int, relative_top: float
) -> DolaConfig:
    return DolaConfig(
        mature_layer=model.config.num_layers,
        candidate_layers=candidates,
        max_length=longest,
        pad_id=tokenizer.pad_id,
        eos_ids=(tokenizer.eos_id,),
        relative_top=relative_top,
    )
