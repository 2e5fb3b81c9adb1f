"""Arrays of numpy in double precision, and a mover's distance between the two sides alone."""


class _Idf(dict):
    def __init__(self, sets):
        self.sentences = len(sets)
        for number in set().union(*sets):
            self[number] = float(np.log(self.sentences + 1) - np.log(1 + sum(number in found for found in sets)))

    def __missing__(self, number):
        return float(np.log(self.sentences + 1))


def get_idf_dict(arr, nthreads=4):
    return _Idf([process(text) for text in arr])


def collate_idf(arr, tokenize, numericalize, idf_dict, pad="[PAD]", device="cuda:0"):
    tokens = [["[CLS]", *list(truncate(tokenize(text))), "[SEP]"] for text in arr]
    longest = max(map(len, tokens))
    empty = numericalize([pad])[0]
    table = np.full((len(arr), longest), empty, dtype=np.int64)
    weights = np.full((len(arr), longest), empty, dtype=np.float32)
    for row, own in enumerate(tokens):
        ids = numericalize(own)
        table[row, : len(ids)] = ids
        weights[row, : len(ids)] = [idf_dict[number] for number in ids]
    lens = torch.tensor([len(own) for own in tokens])
    mask = (torch.arange(longest)[None] < lens[:, None]).to(torch.int64)
    return torch.from_numpy(table), torch.from_numpy(weights), lens, mask, tokens


def pairwise_distances(x, y=None):
    return (x[:, None, :] - y[None, :, :]).square().sum(dim=-1)


def slide_window(a, w=3, o=2):
    a = np.ascontiguousarray(a)
    if w > a.size:
        return [list(a.tolist())]
    return np.lib.stride_tricks.sliding_window_view(a, w)[::o].tolist()


def load_ngram(ids, embedding, idf, n, o):
    windows = slide_window(np.array(ids, dtype=np.int64), n, o)
    table = torch.zeros(len(windows), len(idf), dtype=torch.float64)
    for row, window in enumerate(windows):
        for place in window:
            table[row, place] += 1
    weighted = table * idf.double()
    weights = weighted.sum(dim=1)
    found = (weighted @ embedding.double()) / (weights[:, None] + 1e-5)
    return found.to(embedding.dtype), weights.tolist()


def _grams(texts, idf_dict, left_out, n, device):
    states, _, _, idf, tokens = get_bert_embedding(texts, model, tokenizer, idf_dict, batch_size=1, device=device)
    for row, own in enumerate(tokens):
        used = states[max(0, len(states) - 5) :, row, : len(own)].double()
        used = torch.nn.functional.normalize(used, dim=-1)
        means = torch.cat([used.sum(dim=0) / len(used), used.max(dim=0)[0], used.min(dim=0)[0]], dim=-1)
        vectors, weights = load_ngram([k for k, token in enumerate(own) if not left_out(token)], means, idf[row], n, 1)
        lengths = vectors.square().sum(dim=1, keepdim=True).sqrt()
        yield vectors / (lengths + 1e-6), np.array(weights) / (sum(weights) + 1e-5)


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
    def left_out(token):
        mark = len(token) == 1 and token in string.punctuation
        return mark or token in stop_words or (remove_subwords and token.find("##") >= 0)

    scores = []
    for ref, hyp in zip(refs, hyps):
        (x, f), (y, g) = (
            next(_grams([text], idf, left_out, n_gram, device))
            for text, idf in ((ref, idf_dict_ref), (hyp, idf_dict_hyp))
        )
        points = torch.cat([x, y])
        costs = pairwise_distances(points, points).numpy()
        f = np.append(f, np.zeros(len(g)))
        g = np.append(np.zeros(len(f) - len(g)), g)
        scores.append(1.0 - emd(f, g, costs))
    return scores
