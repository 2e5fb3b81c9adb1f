"""Human evaluation in a browser: who labels what, what they said so far, and the pages on which they say it."""
