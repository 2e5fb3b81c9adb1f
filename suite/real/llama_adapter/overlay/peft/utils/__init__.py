"""A stand-in for the helpers of whole models: those that adaption prompts need."""

from .peft_types import PeftType

__all__ = ["PeftType", "_freeze_adapter", "_get_submodules"]


def _get_submodules(model, key):
    """A module's parent, the module itself, and its name in the parent."""
    parent, _, name = key.rpartition(".")
    return model.get_submodule(parent), model.get_submodule(key), name


def _freeze_adapter(model, adapter_name):
    """Stops the training of the parameters whose names hold that of the adapter."""
    for name, item in model.named_parameters():
        if adapter_name in name:
            item.requires_grad_(False)
