"""The encoder, and the space that its embeddings lie in."""
