"""A stand-in for peft's base class of adapter layers, without devices, quantisation and whole models."""

import warnings


class BaseTunerLayer:
    """What adapter layers have in common: the base layer, and which adapters are active, merged or disabled."""

    adapter_layer_names = ()
    other_param_names = ()
    _disable_adapters = False
    _active_adapter = "default"
    merged_adapters = ()
    cast_input_dtype_enabled = True

    def get_base_layer(self):
        """Return the innermost layer: the base layer may be an adapter layer, too."""
        layer = self
        while hasattr(layer, "base_layer"):
            layer = layer.base_layer
        return layer

    @property
    def merged(self):
        """Whether any adapter is merged into the base layer's weight."""
        return bool(self.merged_adapters)

    @property
    def disable_adapters(self):
        """Whether all adapters are disabled. `enable_adapters` sets it."""
        return self._disable_adapters

    @property
    def active_adapters(self):
        """The names of the active adapters, in order. `set_adapter` sets them."""
        return [self._active_adapter] if isinstance(self._active_adapter, str) else self._active_adapter

    def enable_adapters(self, enabled):
        """Enable or disable all adapters."""
        self._disable_adapters = not enabled

    def set_adapter(self, adapter_names):
        """Activate adapters by name. The weights of the others are frozen."""
        names = [adapter_names] if isinstance(adapter_names, str) else adapter_names
        for layer_name in self.adapter_layer_names:
            for key, layer in getattr(self, layer_name).items():
                layer.requires_grad_(key in names)
        self._active_adapter = names

    def _move_adapter_to_device_of_base_layer(self, adapter_name):
        """Do nothing: all layers are on the CPU here."""

    def _cast_input_dtype(self, x, dtype):
        """Return x in a dtype, unless casting has been switched off."""
        return x if not self.cast_input_dtype_enabled or x.dtype == dtype else x.to(dtype=dtype)


def check_adapters_to_merge(module, adapter_names=None):
    """Return the adapters to merge, by default all active ones, without those that are merged already.

    Raises:
        TypeError: `adapter_names` is a single string.
    """
    if adapter_names is None:
        adapter_names = module.active_adapters
    if isinstance(adapter_names, str):
        raise TypeError(f"adapter_names should be a list of strings, got {adapter_names!r}.")
    left = [name for name in adapter_names if name not in module.merged_adapters]
    if module.merged:
        warnings.warn("Some adapters are merged already; they are not merged again.", stacklevel=2)
    return left


def _get_in_out_features(module):
    """Return the numbers of inputs and outputs of a linear layer, whatever the layout of its weight."""
    if hasattr(module, "in_features"):
        return module.in_features, module.out_features
    return tuple(module.weight.shape)
