"""Context-aware decoding of a small language model that knows its facts by heart."""
