"""A stand-in: names that the trainer imports, and does not use here."""


class DPODataCollatorWithPadding:
    """Would pad a batch."""


def _absent(*_, **__):
    raise NotImplementedError


disable_dropout_in_model = pad_to_length = peft_module_casting_to_bf16 = trl_sanitze_kwargs_for_tagging = _absent
