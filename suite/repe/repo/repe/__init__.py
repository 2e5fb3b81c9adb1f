"""Reading concepts out of a model's hidden states."""
