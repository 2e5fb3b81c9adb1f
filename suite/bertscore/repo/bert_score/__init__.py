"""BERTScore over a small contextual encoder that needs no download."""
