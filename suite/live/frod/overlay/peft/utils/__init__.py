"""A stand-in for what the package knows about models of transformers."""

TRANSFORMERS_MODELS_TO_FROD_TARGET_MODULES_MAPPING = {}
