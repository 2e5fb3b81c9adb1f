"""Reinforcement learning of language models; the part that this repository needs."""
