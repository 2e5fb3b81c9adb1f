"""A stand-in for what peft imports of transformers."""
