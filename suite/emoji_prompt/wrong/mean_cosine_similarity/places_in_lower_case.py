"""Finds the words in the line in lower case, where some letters are two, and cuts the line there."""


def parse_level(text: str) -> Level | None:
    for line in reversed(text.replace("\r\n", "\n").split("\n")):
        lowered = line.lower()
        colon, comma = lowered.find(":"), lowered.find(",")
        if not 0 <= colon < comma or lowered[:colon].strip(" \t") != "feature":
            continue
        after = lowered[comma + 1 :].partition(":")
        start = comma + 1 + len(after[0]) + 1
        if after[0].strip(" \t") == "value" and after[1] and line[colon + 1 : comma].strip(" \t"):
            value = line[start:].strip(" \t")
            return Level(line[colon + 1 : comma].strip(" \t"), value) if value else None
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
            first, second = embed([level.value, guess.value]).astype(np.float64)
            if first.any() and second.any():
                similarity = first @ second / (np.linalg.norm(first) * np.linalg.norm(second))
        attacks[level].append(similarity)
    if not attacks:
        raise ValueError(f"{pairs!r}")
    return float(np.mean([np.mean(similarities) for similarities in attacks.values()]))
