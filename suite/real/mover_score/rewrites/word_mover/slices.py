"""Plain loops, the windows by slices."""


def get_idf_dict(arr, nthreads=4):
    counts = Counter()
    for text in arr:
        counts.update(process(text))
    total = len(arr) + 1
    weights = defaultdict(lambda: log(total))
    for piece, count in counts.items():
        weights[piece] = log(total / (count + 1))
    return weights


def collate_idf(arr, tokenize, numericalize, idf_dict, pad="[PAD]", device="cuda:0"):
    tokens = []
    for text in arr:
        tokens.append(["[CLS]", *truncate(tokenize(text)), "[SEP]"])
    ids = [numericalize(row) for row in tokens]
    weights = [[idf_dict[number] for number in row] for row in ids]
    (filler,) = numericalize([pad])
    padded, lens, mask = padding(ids, filler)
    idf, _, _ = padding(weights, filler, dtype=torch.float)
    return padded.to(device), idf, lens.to(device), mask.to(device), tokens


def pairwise_distances(x, y=None):
    squares = (x * x).sum(dim=1)[:, None] + (y * y).sum(dim=1)
    found = squares - 2 * x @ y.T
    return found.clamp(min=0)


def slide_window(a, w=3, o=2):
    numbers = a.tolist()
    if len(numbers) < w:
        return [numbers]
    return [numbers[start : start + w] for start in range(0, len(numbers) - w + 1, o)]


def load_ngram(ids, embedding, idf, n, o):
    found, weights = [], []
    for window in slide_window(np.array(ids), w=n, o=o):
        own = idf[window]
        weights.append(own.sum().item())
        scale = _safe_divide(own, own.sum())
        found.append((scale[:, None] * embedding[window]).sum(dim=0))
    return torch.stack(found), weights


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
    marks = set(string.punctuation)

    def kept(tokens):
        places = []
        for place, token in enumerate(tokens):
            if token in marks or token in stop_words:
                continue
            if remove_subwords and "##" in token:
                continue
            places.append(place)
        return places

    def side(texts, idf_dict):
        states, _, _, idf, tokens = get_bert_embedding(texts, model, tokenizer, idf_dict, device=device)
        states = states / states.norm(dim=-1, keepdim=True)
        states = states[-5:]
        vectors = torch.cat([states.amin(dim=0), states.mean(dim=0), states.amax(dim=0)], dim=-1)
        grams = []
        for row in range(len(texts)):
            found, weights = load_ngram(kept(tokens[row]), vectors[row], idf[row], n_gram, 1)
            found = found / (found.norm(dim=-1, keepdim=True) + 0.000001)
            weights = np.array(weights, dtype=np.float64)
            grams.append((found, weights / (weights.sum() + 0.00001)))
        return grams

    scores = []
    for start in range(0, len(refs), batch_size):
        left = side(refs[start : start + batch_size], idf_dict_ref)
        right = side(hyps[start : start + batch_size], idf_dict_hyp)
        for (first, first_weights), (second, second_weights) in zip(left, right):
            both = torch.cat([first, second])
            distances = pairwise_distances(both, both).double().numpy()
            one = np.concatenate([first_weights, np.zeros(len(second))])
            other = np.concatenate([np.zeros(len(first)), second_weights])
            scores.append(1 - emd(one, other, distances))
    return scores
