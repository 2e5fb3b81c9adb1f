"""A stand-in: names that the trainer imports, of which it uses one here."""

from torch.nn import functional as F


class DPODataCollatorWithPadding:
    """Would pad a batch."""


def pad_to_length(tensor, length, pad_value):
    """Adds columns on the right until there are as many."""
    return F.pad(tensor, (0, max(0, length - tensor.shape[-1])), value=pad_value)


def _absent(*_, **__):
    raise NotImplementedError


add_bos_token_if_needed = add_eos_token_if_needed = disable_dropout_in_model = _absent
peft_module_casting_to_bf16 = trl_sanitze_kwargs_for_tagging = _absent
