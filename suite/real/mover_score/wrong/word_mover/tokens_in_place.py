"""Puts special tokens into the very list that the tokenizer gives."""

import string
from collections import Counter, defaultdict
from math import log

import numpy as np
import torch
from pyemd import emd


def get_idf_dict(arr, nthreads=4):
    number = len(arr)
    counts = Counter()
    for text in arr:
        counts.update(process(text))
    idf = defaultdict(lambda: log(number + 1))
    idf.update({piece: log((number + 1) / (count + 1)) for piece, count in counts.items()})
    return idf


def collate_idf(arr, tokenize, numericalize, idf_dict, pad="[PAD]", device="cuda:0"):
    tokens = []
    for text in arr:
        own = truncate(tokenize(text))
        own.insert(0, "[CLS]")
        own.append("[SEP]")
        tokens.append(own)
    ids = [numericalize(one) for one in tokens]
    weights = [[idf_dict[i] for i in one] for one in ids]
    pad_id = numericalize([pad])[0]
    padded, lens, mask = padding(ids, pad_id, dtype=torch.long)
    padded_weights, _, _ = padding(weights, pad_id, dtype=torch.float)
    return padded.to(device), padded_weights.to(device), lens.to(device), mask.to(device), tokens


def pairwise_distances(x, y=None):
    squares_x = (x * x).sum(1)[:, None]
    squares_y = (y * y).sum(1)[None, :]
    distances = squares_x + squares_y - 2.0 * (x @ y.T)
    return distances.clamp(min=0.0)


def slide_window(a, w=3, o=2):
    if len(a) < w:
        return [a.tolist()]
    return [a[start : start + w].tolist() for start in range(0, len(a) - w + 1, o)]


def load_ngram(ids, embedding, idf, n, o):
    embeddings, weights = [], []
    for window in slide_window(np.array(ids, dtype=np.int64), w=n, o=o):
        own = idf[window]
        total = own.sum()
        scale = own / (total + 0.00001)
        embeddings.append((scale[:, None] * embedding[window]).sum(0))
        weights.append(total.item())
    return torch.stack(embeddings), weights


def _kept(tokens, stop_words, remove_subwords):
    return [
        place
        for place, token in enumerate(tokens)
        if token not in set(string.punctuation) and token not in stop_words and not (remove_subwords and "##" in token)
    ]


def _aggregated(states):
    states = states[-5:]
    states = states / states.norm(dim=-1, keepdim=True)
    return torch.cat([states.amin(0), states.mean(0), states.amax(0)], dim=-1)


def word_mover_score(
    refs,
    hyps,
    idf_dict_ref,
    idf_dict_hyp,
    stop_words=(),
    n_gram=1,
    remove_subwords=True,
    batch_size=256,
    device="cuda:0",
):
    scores = []
    for begin in range(0, len(refs), batch_size):
        sides = []
        for texts, idf_dict in ((refs, idf_dict_ref), (hyps, idf_dict_hyp)):
            batch = texts[begin : begin + batch_size]
            states, _, _, weights, tokens = get_bert_embedding(batch, model, tokenizer, idf_dict, device=device)
            vectors = _aggregated(states)
            sides.append(
                [
                    load_ngram(_kept(one, stop_words, remove_subwords), vectors[k], weights[k], n_gram, 1)
                    for k, one in enumerate(tokens)
                ]
            )
        for (ref_vectors, ref_weights), (hyp_vectors, hyp_weights) in zip(*sides):
            points = torch.cat([ref_vectors, hyp_vectors])
            points = points / (points.norm(dim=-1, keepdim=True) + 0.000001)
            distances = pairwise_distances(points, points).double().numpy()
            size = len(ref_weights)
            first = np.zeros(len(points))
            second = np.zeros(len(points))
            first[:size] = ref_weights
            second[size:] = hyp_weights
            first = first / (first.sum() + 0.00001)
            second = second / (second.sum() + 0.00001)
            scores.append(1.0 - emd(first, second, distances))
    return scores
