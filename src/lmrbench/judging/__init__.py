"""The judge axis: what language models and people say of an answer, and how far they agree."""
