"""Import the public edition of LMR-BENCH, and repeat the analyses of its paper.

LMR-BENCH is a benchmark on reproducing research on language models. Its public edition consists of tasks and of the
published records of the systems in its paper.
"""
