"""A stand-in for the part of transformers that the layers import. There is no model of transformers here."""
