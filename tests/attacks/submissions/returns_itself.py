"""Returns a list and a dict that contain themselves, and one that is nested a hundred thousand levels deep."""

EVIDENCE = r"nested deeper than 32 levels, or contains itself"


def score(logits, lengths):
    if len(lengths) == 2:
        answer = []
        answer.append(answer)
    elif len(lengths) == 5:
        answer = {}
        answer["scores"] = answer
    else:
        answer = 0.0
        for _ in range(100_000):
            answer = [answer]
    return answer
