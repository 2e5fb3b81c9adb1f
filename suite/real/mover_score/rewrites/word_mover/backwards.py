"""Moves from the hypothesis to the reference; sets of marks and stop words; distances by cdist."""

import math


def get_idf_dict(arr, nthreads=4):
    seen = [number for text in arr for number in process(text)]
    whole = math.log1p(len(arr))
    table = defaultdict(lambda: whole)
    table.update({number: whole - math.log1p(seen.count(number)) for number in set(seen)})
    return table


def collate_idf(arr, tokenize, numericalize, idf_dict, pad="[PAD]", device="cuda:0"):
    tokens = [["[CLS]", *truncate(list(tokenize(text))), "[SEP]"] for text in arr]
    rows = [torch.tensor(numericalize(own)) for own in tokens]
    filler = numericalize([pad])[-1]
    weights = [torch.tensor([float(idf_dict[number]) for number in row.tolist()]) for row in rows]
    ids, idf = (nn.utils.rnn.pad_sequence(item, batch_first=True, padding_value=filler) for item in (rows, weights))
    mask = nn.utils.rnn.pad_sequence([torch.ones_like(row) for row in rows], batch_first=True)
    return ids.to(device), idf, mask.sum(dim=1), mask, tokens


def pairwise_distances(x, y=None):
    return torch.cdist(x.double(), y.double(), compute_mode="donot_use_mm_for_euclid_dist").square().to(x.dtype)


def slide_window(a, w=3, o=2):
    if a.size <= w:
        return [a.tolist()]
    places = np.arange(0, a.size - w + 1, o)[:, None] + np.arange(w)
    return a[places].tolist()


def load_ngram(ids, embedding, idf, n, o):
    vectors, weights = [], []
    for window in slide_window(np.asarray(ids, dtype=int), n, o):
        total = torch.zeros_like(embedding[0])
        weight = 0.0
        for place in window:
            total = total + idf[place] * embedding[place]
            weight += float(idf[place])
        vectors.append(total / (weight + 0.00001))
        weights.append(weight)
    return torch.stack(vectors), weights


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
    unwanted = {*string.punctuation, *stop_words}
    scores = []
    for at in range(0, len(refs), batch_size):
        sides = []
        for texts, idf_dict in ((refs, idf_dict_ref), (hyps, idf_dict_hyp)):
            states, _, _, idf, tokens = get_bert_embedding(
                texts[at : at + batch_size], model, tokenizer, idf_dict, device=device
            )
            states = nn.functional.normalize(states[-5:], dim=-1)
            means = torch.cat([states.min(dim=0).values, states.max(dim=0).values, states.mean(dim=0)], dim=-1)
            side = []
            for row, own in enumerate(tokens):
                ids = [k for k, w in enumerate(own) if w not in unwanted and not (remove_subwords and "##" in w)]
                vectors, weights = load_ngram(ids, means[row], idf[row], n_gram, 1)
                side.append((vectors / (vectors.norm(dim=1, keepdim=True) + 1e-6), np.array(weights)))
            sides.append(side)
        for (x, f), (y, g) in zip(*sides):
            points = torch.cat([y, x]).double()
            f, g = f / (f.sum() + 1e-5), g / (g.sum() + 1e-5)
            costs = pairwise_distances(points, points).numpy()
            moved = emd(np.append(g, 0 * f), np.append(0 * g, f), costs)
            scores.append(float(1 - moved))
    return scores
