"""A stub: only what an evaluator inherits from."""
