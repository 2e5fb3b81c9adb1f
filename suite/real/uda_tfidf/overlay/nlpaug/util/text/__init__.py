"""Here with the tokenizer alone."""
