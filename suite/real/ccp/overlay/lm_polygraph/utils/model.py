"""Names that signatures mention; the package's classes, which hold language models, are left out."""


class Model:
    """Any language model."""


class WhiteboxModel(Model):
    """A language model whose probabilities can be seen."""
