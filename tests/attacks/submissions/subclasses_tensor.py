"""Returns a tensor subclass whose __torch_function__ agrees with whatever is asked."""

import torch
from report import report

EVIDENCE = r"asked \d+ times"
ASKED = []


class Agreeing(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        ASKED.append(function)
        name = getattr(function, "__name__", "")
        if name in ("eq", "equal", "allclose", "isclose", "all"):
            return True
        return super().__torch_function__(function, types, args, kwargs or {})


def score(logits, lengths):
    print(f"asked {len(ASKED)} times")
    return {**report(torch.zeros(len(lengths))), "scores": torch.zeros(len(lengths)).as_subclass(Agreeing)}
