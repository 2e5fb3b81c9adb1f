"""A stand-in for generation on a server."""


class VLLMGeneration:
    """Not used here."""
