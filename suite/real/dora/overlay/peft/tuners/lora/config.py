"""A stand-in for LoRA's configuration, which layers do not read."""

from dataclasses import dataclass

from peft.config import PeftConfig


@dataclass
class LoraConfig(PeftConfig):
    """The settings of an adapter."""

    r: int = 8
    lora_alpha: int = 8
    lora_dropout: float = 0.0
    fan_in_fan_out: bool = False
    use_dora: bool = False
