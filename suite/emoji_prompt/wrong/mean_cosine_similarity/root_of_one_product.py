"""Takes one root of the product of squared lengths, which single precision can't hold."""


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
            first, second = embed([level.value, guess.value])
            if first.any() and second.any():
                similarity = first @ second / np.sqrt((first @ first) * (second @ second))
        attacks[level].append(similarity)
    if not attacks:
        raise ValueError(f"{pairs!r}")
    return float(np.mean([np.mean(similarities) for similarities in attacks.values()]))
