"""Edge: Scales the array to unit vectors that the embedding returned, and may keep."""


def parse_level(text: str) -> Level | None:
    for line in reversed(text.replace("\r\n", "\n").split("\n")):
        head, _, tail = line.partition(",")
        word, _, feature = head.partition(":")
        other, colon, value = tail.partition(":")
        if (
            (word.strip(" \t").lower(), other.strip(" \t").lower()) == ("feature", "value")
            and feature.strip(" \t")
            and colon
        ):
            return Level(feature.strip(" \t"), value.strip(" \t")) if value.strip(" \t") else None
    return None


def compute_mean_cosine_similarity(
    pairs: Iterable[tuple[str, str]], embed: Callable[[Sequence[str]], NDArray[np.floating]]
) -> float:
    attacks = defaultdict(list)
    for original, answer in pairs:
        level = parse_level(original)
        if level is None:
            raise ValueError(f"no level: {original!r}")
        guess, similarity = parse_level(answer), 0.0
        if guess is not None:
            vectors = embed([level.value, guess.value])
            lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
            vectors /= np.where(lengths == 0, 1, lengths)
            similarity = vectors[0] @ vectors[1]
        attacks[level].append(similarity)
    if not attacks:
        raise ValueError(f"{pairs!r}")
    return float(np.mean([np.mean(similarities) for similarities in attacks.values()]))
