"""Raises an exception whose message clears the terminal, names the window and says in green that all is well."""

EVIDENCE = r"case 0: error: (?s:.*)all passed"


def score(logits, lengths):
    raise ValueError("\x1b[2J\x1b]0;passed\x07\x1b[32mall passed\x1b[0m\r\x9b1A\x08\x00")
