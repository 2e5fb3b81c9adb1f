"""A stand-in for the base class: a model, its reference, and settings that may change from epoch to epoch."""

from types import SimpleNamespace


class OnlineDPOTrainer:
    """Holds models and settings; there is no loop."""

    accelerator = None

    def __init__(self, model=None, ref_model=None, reward_model=None, args=None, tokenizer=None, **_):
        self.model, self.ref_model, self.reward_model = model, ref_model, reward_model
        self.args, self.tokenizer = args, tokenizer
        self.state = SimpleNamespace(epoch=0)
        self._beta = args.beta

    @property
    def beta(self):
        """The setting of this epoch; those of a list count until the last, which stays."""
        if not isinstance(self._beta, list):
            return self._beta
        return self._beta[min(self.state.epoch, len(self._beta) - 1)]
