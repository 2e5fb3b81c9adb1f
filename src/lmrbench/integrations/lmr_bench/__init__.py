"""The public edition of LMR-BENCH: import of its tasks, its published records, and the analyses of its paper."""
