"""A stub: only what an evaluator inherits from."""


class SentenceEvaluator:
    def __init__(self):
        self.greater_is_better = True
