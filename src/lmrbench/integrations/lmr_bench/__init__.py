"""The public edition of LMR-BENCH: import its tasks, read its records, repeat the paper's analyses."""
