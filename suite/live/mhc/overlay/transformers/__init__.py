"""The part of transformers that the model imports. Most of it are stand-ins."""
