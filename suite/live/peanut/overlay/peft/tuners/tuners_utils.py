"""A stand-in for the base of all adapter layers: which adapters are active, and which are merged."""

from torch import nn


class BaseTunerLayer:
    """What the layers of all methods have in common. A layer wraps a base layer and holds adapters by name."""

    adapter_layer_names = ()
    other_param_names = ()
    merged_adapters = ()
    _disable_adapters = False
    _active_adapter = "default"

    def get_base_layer(self) -> nn.Module:
        """The wrapped layer of torch."""
        return self.base_layer

    @property
    def merged(self) -> bool:
        """Whether the base layer's weight contains any adapter."""
        return len(self.merged_adapters) > 0

    @property
    def disable_adapters(self) -> bool:
        """Whether the layer has to act as its base layer."""
        return self._disable_adapters

    @property
    def active_adapters(self) -> list[str]:
        """Names of the adapters in use, which need not all exist in this layer."""
        active = self._active_adapter
        return [active] if isinstance(active, str) else list(active)

    def enable_adapters(self, enabled: bool) -> None:
        """Switch all adapters on or off."""
        self._disable_adapters = not enabled

    def set_adapter(self, adapter_names: str | list[str], inference_mode: bool = False) -> None:
        """Choose the adapters in use, in this order."""
        self._active_adapter = adapter_names

    def _cast_input_dtype(self, x, dtype):
        return x.to(dtype)

    def _move_adapter_to_device_of_base_layer(self, adapter_name: str) -> None:
        """Nothing to do: all is on one CPU."""


def check_adapters_to_merge(module: BaseTunerLayer, adapter_names: list[str] | None = None) -> list[str]:
    """The given adapters, by default the active ones, without those that are merged."""
    names = module.active_adapters if adapter_names is None else adapter_names
    return [name for name in names if name not in module.merged_adapters]
