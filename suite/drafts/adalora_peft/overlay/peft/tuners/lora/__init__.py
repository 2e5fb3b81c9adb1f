"""A stand-in for LoRA's layer and configuration, as far as AdaLoRA's are built on them."""

from dataclasses import dataclass, field

from torch import nn

from peft.config import PeftConfig
from peft.tuners.tuners_utils import BaseTunerLayer

__all__ = ["LoraConfig", "LoraLayer"]


@dataclass
class LoraConfig(PeftConfig):
    """The settings of LoRA that AdaLoRA's configuration looks at."""

    r: int = 8
    target_modules: list[str] | str | None = None
    lora_alpha: int = 8
    lora_dropout: float = 0.0
    fan_in_fan_out: bool = False
    init_lora_weights: bool = True
    layers_to_transform: list[int] | int | None = None
    layers_pattern: list[str] | str | None = None
    loftq_config: dict = field(default_factory=dict)
    use_dora: bool = False


class LoraLayer(BaseTunerLayer):
    """What an adapted linear layer holds for each of its adapters."""

    def __init__(self, base_layer, **kwargs):
        self.base_layer = base_layer
        self.r, self.lora_alpha, self.scaling = {}, {}, {}
        self.lora_dropout = nn.ModuleDict()
        self.lora_embedding_A, self.lora_embedding_B = nn.ParameterDict(), nn.ParameterDict()
        self._disable_adapters = False
        self.merged_adapters = []
        self.kwargs = kwargs
        self.in_features, self.out_features = base_layer.in_features, base_layer.out_features
