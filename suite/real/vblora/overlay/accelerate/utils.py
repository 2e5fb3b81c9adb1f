"""A stand-in: nothing is offloaded here."""


def named_module_tensors(module, *args, **kwargs):
    """Parameters and buffers with their names."""
    yield from module.named_parameters()
    yield from module.named_buffers()


def offload_state_dict(*args, **kwargs):
    """Would write weights to the disk."""
    raise NotImplementedError
