"""Training objectives; each is called as `loss(sentence_features, labels)` by the training loop."""
