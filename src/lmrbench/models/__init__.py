"""What solving and judging share about models: whether they can be reached, and how an answer ended."""
