"""A stand-in for the base class: a training step, and no loop."""


class _Accelerator:
    """One process on one CPU: models are what they are."""

    def prepare_model(self, model, evaluation_mode=False):
        """The model, in evaluation mode if that is asked for."""
        return model.eval() if evaluation_mode else model

    def unwrap_model(self, model):
        """The model inside."""
        return model


class SFTTrainer:
    """Holds a model and its settings."""

    is_deepspeed_enabled = False

    def __init__(self, model, args, tokenizer, data_collator):
        self.model, self.args, self.tokenizer, self.data_collator = model, args, tokenizer, data_collator
        self.accelerator = _Accelerator()

    def training_step(self, model, inputs):
        """Adds the gradients of the loss to the model's parameters, and returns the loss without them."""
        model.train()
        loss = self.compute_loss(model, inputs)
        loss.backward()
        return loss.detach()
