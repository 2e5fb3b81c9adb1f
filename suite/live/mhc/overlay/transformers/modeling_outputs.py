"""Stand-ins for outputs of whole models."""


class MoeCausalLMOutputWithPast:
    """Not used here."""


class MoeModelOutputWithPast:
    """Not used here."""
