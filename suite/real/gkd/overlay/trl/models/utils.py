"""A stand-in: nothing is spread over several devices here."""

from contextlib import contextmanager

unwrapped = []


@contextmanager
def unwrap_model_for_generation(model, accelerator):
    """The model inside, which can generate for as long as the context lasts; till then it is noted in `unwrapped`."""
    unwrapped.append(accelerator.unwrap_model(model))
    try:
        yield unwrapped[-1]
    finally:
        unwrapped.pop()
