"""Self-play fine-tuning of a language model."""
