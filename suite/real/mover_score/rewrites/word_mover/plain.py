"""The shortest code that follows the paper."""


def get_idf_dict(arr, nthreads=4):
    counts = Counter(number for text in arr for number in process(text))
    total = len(arr) + 1
    return defaultdict(lambda: log(total), {number: log(total / (count + 1)) for number, count in counts.items()})


def collate_idf(arr, tokenize, numericalize, idf_dict, pad="[PAD]", device="cuda:0"):
    tokens = [["[CLS]", *truncate(tokenize(text)), "[SEP]"] for text in arr]
    ids = [numericalize(row) for row in tokens]
    padded, lens, mask = padding(ids, numericalize([pad])[0])
    weights, _, _ = padding([[idf_dict[number] for number in row] for row in ids], 0, torch.float)
    return padded.to(device), weights, lens.to(device), mask.to(device), tokens


def pairwise_distances(x, y=None):
    return (x[:, None] - y[None]).square().sum(-1)


def slide_window(a, w=3, o=2):
    w = min(w, len(a))
    return [a[start : start + w].tolist() for start in range(0, len(a) - w + 1, o)]


def load_ngram(ids, embedding, idf, n, o):
    windows = slide_window(np.array(ids), n, o)
    weights = [idf[window].sum() for window in windows]
    vectors = [idf[window] @ embedding[window] / (weight + 1e-8) for window, weight in zip(windows, weights)]
    return torch.stack(vectors), [weight.item() for weight in weights]


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
    def points(text, idf_dict):
        states, _, _, idf, tokens = get_bert_embedding([text], model, tokenizer, idf_dict, device=device)
        states = nn.functional.normalize(states[-5:, 0], dim=-1)
        vectors = torch.cat([states.amin(0), states.mean(0), states.amax(0)], -1)
        kept = [
            place
            for place, token in enumerate(tokens[0])
            if token not in [*string.punctuation, *stop_words] and not (remove_subwords and "##" in token)
        ]
        vectors, weights = load_ngram(kept, vectors, idf[0], n_gram, 1)
        return nn.functional.normalize(vectors, dim=-1).double(), np.array(weights) / sum(weights)

    scores = []
    for ref, hyp in zip(refs, hyps):
        (x, f), (y, g) = points(ref, idf_dict_ref), points(hyp, idf_dict_hyp)
        both = torch.cat([x, y])
        distances = pairwise_distances(both, both).numpy()
        scores.append(1 - emd(np.append(f, 0 * g), np.append(0 * f, g), distances))
    return scores
