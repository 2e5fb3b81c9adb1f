"""Open-loop tree search over the acts of a persuader, with a scripted language model in all its roles."""
