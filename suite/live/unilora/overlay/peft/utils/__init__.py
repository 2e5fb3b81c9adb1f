"""A stand-in for the package's table of modules by architecture. Modules are named in the configuration here."""

TRANSFORMERS_MODELS_TO_UNILORA_TARGET_MODULES_MAPPING = {}
