"""Plain loops and mathematics of the standard library; scipy's milp for the programme, with sparse constraints."""

import math
import statistics

import numpy as np
from scipy.optimize import LinearConstraint, milp
from scipy.sparse import eye_array, kron


class WordPieceTokenizer:
    def _split(self, word):
        found, rest, mark = [], word, ""
        while rest:
            size = max(size for size in range(1, len(rest) + 1) if mark + rest[:size] in self._ids)
            found.append(mark + rest[:size])
            rest, mark = rest[size:], CONTINUATION
        return found


class IdfWeights:
    def __init__(self, texts):
        self.total, self.held = len(texts) + 1, {}
        for number, tokens in enumerate(texts):
            for token in tokens:
                self.held.setdefault(token, set()).add(number)

    def __call__(self, token):
        return math.log(self.total) - math.log(len(self.held.get(token, ())) + 1)


def collate(sentences, encoder, weight):
    rows = [torch.tensor(list(map(weight, tokens))) for tokens in sentences]
    return Batch(encoder.encode(sentences), torch.nn.utils.rnn.pad_sequence(rows, batch_first=True), sentences)


def optimal_flow(supply, demand, cost):
    supply, demand = supply.tolist(), demand.tolist()
    given, taken = sum(supply), sum(demand)
    if abs(given - taken) > 1e-5:
        raise ValueError("totals differ")
    demand = np.array(demand) * given / taken
    n, m = cost.shape
    leaving = kron(eye_array(n), np.ones((1, m)), format="csc")
    arriving = kron(np.ones((1, n)), eye_array(m), format="csc")
    constraints = [
        LinearConstraint(leaving, supply, supply),
        LinearConstraint(arriving, demand - 1e-12, demand + 1e-12),
    ]
    found = milp(cost.numpy().ravel(), constraints=constraints)
    return torch.tensor(found.x.reshape(n, m))


def _embed(states):
    columns = list(zip(*states))
    return [min(c) for c in columns] + [math.fsum(c) / len(c) for c in columns] + [max(c) for c in columns]


def _text(embedding, row, idf, tokens, n_gram, skip):
    words = []
    for place, token in enumerate(tokens):
        if not skip(token):
            states = [embedding[layer, row, place].tolist() for layer in range(embedding.shape[0])][-5:]
            words.append((float(idf[row, place]), _embed(states)))
    starts = [0] if len(words) <= n_gram else range(len(words) - n_gram + 1)
    grams = []
    for start in starts:
        run = words[start : start + n_gram]
        weight = math.fsum(w for w, _ in run)
        if weight:
            vector = [math.fsum(parts) for parts in zip(*[[w * x for x in vector] for w, vector in run])]
            length = math.hypot(*vector)
            grams.append((weight, [x / length for x in vector]))
    return grams


def word_mover_score(
    ref_embedding,
    ref_idf,
    ref_tokens,
    hyp_embedding,
    hyp_idf,
    hyp_tokens,
    n_gram=1,
    stop_words=(),
    remove_subwords=True,
):
    def skip(token):
        return (
            token in MARKERS
            or token in PUNCTUATION
            or token in stop_words
            or (remove_subwords and token.startswith(CONTINUATION))
        )

    scores = []
    for row in range(len(ref_tokens)):
        ref = _text(ref_embedding, row, ref_idf, ref_tokens[row], n_gram, skip)
        hyp = _text(hyp_embedding, row, hyp_idf, hyp_tokens[row], n_gram, skip)
        if not ref or not hyp:
            scores.append(0.0)
            continue
        cost = [[math.dist(a, b) for _, b in hyp] for _, a in ref]
        supply, demand = ([w / math.fsum(w for w, _ in side) for w, _ in side] for side in (ref, hyp))
        flow = optimal_flow(torch.tensor(supply), torch.tensor(demand), torch.tensor(cost)).tolist()
        scores.append(1 - math.fsum(f * c for row in zip(flow, cost) for f, c in zip(*row)))
    return scores


def score_texts(references, hypotheses, tokenizer, encoder, config, static=False):
    sides, scores = [], []
    for texts in (references, hypotheses):
        tokens = [tokenizer.tokenize(text) for text in texts]
        sides.append((tokens, IdfWeights(tokens)))
    for start in range(0, len(references), config.batch_size):
        inputs = []
        for tokens, weight in sides:
            embedding, idf, rows = collate(tokens[start : start + config.batch_size], encoder, weight)
            inputs.extend([embedding[0].unsqueeze(0) if static else embedding, idf, rows])
        options = {name: getattr(config, name) for name in ("n_gram", "stop_words", "remove_subwords")}
        scores.extend(word_mover_score(*inputs, **options))
    return scores


def pearson(scores, judgements):
    return statistics.correlation(scores, judgements)
