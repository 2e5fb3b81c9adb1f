"""A stand-in: no model of transformers is loaded here."""
